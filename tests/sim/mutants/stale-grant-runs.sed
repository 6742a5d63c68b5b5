# src/job/waiter.c
# What was granted before a long stop is not confirmed afresh ...
/^	} while ($/{N;s/.*/	} while (false);/;}
# src/lock/acquiring.c
/instant_reached(lease_renew_at(terms, answer->sent_at), answer->received_at)/s/if (.*) {/if (false) {/
# src/job/keeper.c
# ... and RUNNER does not look at the clock before it starts COMMAND.
/^is_too_late(/,/^}/s/return .*/return false;/
