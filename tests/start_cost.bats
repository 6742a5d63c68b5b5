#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What a run of dlock costs. Time is for `make bench`, on a machine that does nothing else; here are
# counted what repeats anywhere: instructions, system calls, libraries.

load helpers/common

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# Whoever has to wait waits for the event: no millisecond is slept away at the end of every run. OUTER
# looks for RUNNER's end, and finds it still there (strace sees to that, once), as it often is.
@test "nobody sleeps or waits in vain in a run that goes well" {
	run -0 strace -f -qq -o trace -e inject=wait4:retval=0:when=1 \
		-e trace=wait4,poll,ppoll,select,pselect6,epoll_wait,nanosleep,clock_nanosleep,rt_sigtimedwait \
		"$DLOCK" sleepless true
	grep -q 'wait4.*INJECTED' trace
	[ "$(grep -c poll trace)" -ge 4 ]
	run grep -E 'sleep|EAGAIN|\(Timeout\)' trace
	assert_output ''
}
