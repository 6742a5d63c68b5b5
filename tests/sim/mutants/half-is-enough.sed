# src/store/quorum.c
# Half of the servers decide, not a majority.
/majority = /s/count \/ 2 + 1/count \/ 2/
