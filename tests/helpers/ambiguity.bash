#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# One request of dlock meets one failure of the way to the server and back, and then all is well
# again. PHASE is the request, as flaky_proxy names it: ACQUIRE, RENEW, RELEASE, CLIENT (the login).
#
#   watch_all                    proxy in front of the server, MONITOR behind it, before dlock starts
#   strike_next PHASE FAILURE    and strike_every: FAILURE befalls the next such request, or each one
#   end_failure FAILURE          what was held back or stood still goes on
#
# FAILURE:
#   drop, half, cut, end, late   the server has executed it; its answer is lost, or half of it comes
#                                and then silence, or a RST, or an orderly end, or it comes too late
#   keep                         the request itself is held up on its way
#   orphan                       the same, and dlock's connection is reset: it arrives when dlock has
#                                long gone on
#   freeze                       the server stands still when it comes, and executes it later
#
# shellcheck disable=SC2034 # variables are for the caller

watch_all() {
	start_proxy
	start redis-cli -s "$REDIS_SOCK" MONITOR >"$WORK/monitor"
	wait_until 2s grep -q OK "$WORK/monitor"
}

# order_of FAILURE: what the proxy is to do.
order_of() {
	case $1 in
	late) echo "here delay ${LATE_MS:-700}" ;;
	freeze) echo "stop $REDIS_PID" ;;
	*) echo "here $1" ;;
	esac
}

strike_next() {
	proxy on "$1" "$(order_of "$2")"
}

strike_every() {
	proxy every "$1" "$(order_of "$2")"
}

# struck FAILURE [N]: it has struck, N (1) times at least. For wait_until.
struck() {
	case $1 in
	late) struck delay "${2:-1}" ;;
	freeze) state_is T "$REDIS_PID" ;;
	*) [ "$(grep -c " 0 !$1\$" "$PROXY_LOG")" -ge "${2:-1}" ] ;;
	esac
}

end_failure() {
	[ "$1" != freeze ] || kill -CONT "$REDIS_PID"
	proxy pass
}

# server_did COMMAND: how many of the scripts that the server has executed did this to the lock's
# key: SET is a grant, PEXPIRE a renewal, DEL a release.
server_did() {
	grep -ciF " lua] \"$1\" \"$(key_of job)\"" "$WORK/monitor" || true
}

fences_drawn() {
	grep -ciF " lua] \"incr\" \"$(fence_key_of job)\"" "$WORK/monitor" || true
}

# closed_connections N: dlock has closed so many, at least. For wait_until.
closed_connections() {
	[ "$(grep -c ' 0 !closed$' "$PROXY_LOG")" -ge "$1" ]
}

connections() {
	cut -d' ' -f2 "$PROXY_LOG" | sort -u | wc -l
}

# not_used_again: by the proxy's log no connection that a failure struck carried another request
# after it, and all that dlock saw no end of it has closed itself.
not_used_again() {
	awk '
		$4 == "!closed" { closed[$2] = 1; next }
		$4 ~ /^!(cut|end|orphan)$/ { closed[$2] = 1 }
		$4 ~ /^!/ { struck[$2] = $4; next }
		$2 in struck { print "connection " $2 " was used again after " struck[$2] ": " $0; bad = 1 }
		END {
			for (i in struck)
				if (!(i in closed)) {
					print "connection " i " was left open after " struck[i]
					bad = 1
				}
			exit bad
		}' "$PROXY_LOG"
}

# absent_for MS: the lock's key does not exist, and no poll of this time finds it.
absent_for() {
	local end=$(($(now_ms) + $1))
	while [ "$(now_ms)" -lt "$end" ]; do
		free job || { echo "the lock is there: $(redis GET lock:job)" >&2; show_scene >&2; return 1; }
		sleep 0.01
	done
}
