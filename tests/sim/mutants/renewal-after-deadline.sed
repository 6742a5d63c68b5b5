# src/lock/holding.c
# Past its deadline a holder goes on renewing, and believes what it is answered. (All nets are there.)
/^end_of_hope(/,/^}/s/return .*/return INSTANT_NEVER;/
