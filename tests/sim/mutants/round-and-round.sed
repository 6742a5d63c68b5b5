# src/store/quorum_steps.c
# A quorum that was there, and is not any more, is waited for by a timer in the past: the first find.
/it may have been more/s/quorum->due = INSTANT_NEVER;/;/
