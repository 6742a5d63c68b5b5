#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Bad days (tests/diagnostics.list): what befalls a dlock at first contact, in line, while it holds and
# when it releases. Here are the rows on which most depends; tests/long/diagnostics.bats does them all.
# More of one kind or another: unreachable, hostile, foreign_keys, ambiguity, members_server, passwords.

load ../helpers/common
load ../helpers/proxy
load ../helpers/tls
load ../helpers/badday

@test "bad days that pass (LOADING, BUSY, READONLY, MISCONF, too many clients): tried again within -w, told at once without" {
	bad_days loading busy readonly misconf maxclients
}

@test "bad days that stay (OOM, no rights, no EVAL, a garbage fence): told at once, in line tried again; under OOM a lock renews and releases" {
	bad_days oom noauth noperm_inside no_eval garbage_fence
}

@test "a key that is evicted: lost at the next renewal, without --watch (R54)" {
	local i
	start_redis --maxmemory 4mb --maxmemory-policy allkeys-lru
	start_dlock --ttl 6s job sleep 900
	wait_until 3s running "$OUTER"
	for ((i = 0; i < 2000; i++)); do
		held job || break
		redis EVAL "for i = 1, 10 do redis.call('SET', 'fill:' .. ARGV[1] .. ':' .. i, string.rep('x', 10000)) end" \
			0 "$i" >/dev/null
	done
	free job
	[ "$i" -gt 0 ]
	start_clock
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_between 0 4000 "$(clock_ms)" "milliseconds until the loss was known"
	grep -F "lost 'job': the key is gone" "$DLOCK_LOG"
}

@test "man page: DIAGNOSTICS is the table of these tests" {
	grep '^[a-z_]* | ' "$DIAGNOSTICS" | sed 's/^\([a-z_]*\) | - |/\1 | |/' >table
	awk '
		/^\.Sh/ { inside = $0 == ".Sh DIAGNOSTICS" }
		inside && /^\.\\" row / { name = $3 }
		inside && name && /^\.It/ { says = sub(/^\.It Li /, "") ? $0 : "" }
		inside && name && /^\.Em/ {
			sub(/^\.Em /, ""); sub(/ \.$/, ""); gsub(/ , /, " | ")
			print name " | " says (says == "" ? "" : " ") "| " $0
			name = ""
		}' "$ROOT_DIR/man/dlock.1" >page
	[ "$(wc -l <table)" -ge 25 ]
	diff table page
	# What is literal there must be shown so.
	mandoc -T ascii -O width=200 "$ROOT_DIR/man/dlock.1" | sed -e 's/.\x08//g' >shown
	local says
	while IFS='|' read -r _ says _; do
		says=${says# } says=${says% }
		[ -z "$says" ] || grep -qF -- "$says" shown || { echo "not shown so: $says"; return 1; }
	done <table
}

@test "every row has something that provokes it, and every one that provokes is a row" {
	diff <(every_row | sort) <(declare -F | sed -n 's/^declare -f provoke_//p' | sort)
}
