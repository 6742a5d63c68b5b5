/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * Prints CLOCK_BOOTTIME as SECONDS.NANOSECONDS: the clock of dlock's deadlines, which a shell
 * cannot read (/proc/uptime has hundredths only).
 */
#include <stdio.h>
#include <time.h>

int
main(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
		perror("boottime: clock_gettime");
		return 1;
	}
	printf("%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	return 0;
}
