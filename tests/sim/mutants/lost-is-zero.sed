# src/job/ending.c
# A loss that is found at release only is not told: status 0.
/released == RELEASE_FOUND_LOST/,/return true/s/return true/return false/
