#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What a user of the server must be allowed (dlock(1), Access control), and that the suite can be run
# with dlock as a user who may do little (CHECK_ACL=1, helpers/server.bash).

load helpers/common

MAN=$ROOT_DIR/man/dlock.1

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# The ACL rule of the man page, as arguments of redis-cli.
acl_rule() {
	sed -n '/^ACL SETUSER dlock /,/^\.Ed/p' "$MAN" | sed -e 's/^ACL SETUSER dlock //' -e '/^\.Ed/d' | tr -s '\n ' ' '
}

# Everything that dlock asks a server for; the URL is that of the restricted user.
use_everything() {
	local url=redis://dlock:secret@127.0.0.1:$REDIS_PORT/1
	redis -n 1 DEL lock:acl >/dev/null
	"$DLOCK" -S "$url" -t 1s acl sleep 0.5 || return
	"$DLOCK" -S "$url" -n acl "$DLOCK" -S "$url" -n -E 9 acl true || [ "$?" = 9 ] || return
	"$DLOCK" -S "$url" --fence counter --at-least 100ms acl true || return
	"$DLOCK" -S "$url" -w 5s --min-fence 99 acl true || return
}

@test "man page: a user with the commands and keys it lists can do everything" {
	local rule
	read -ra rule <<<"$(acl_rule)"
	[ "${#rule[@]}" -ge 5 ]
	redis ACL SETUSER dlock reset "${rule[@]}"
	redis ACL LOG RESET
	use_everything 2>messages
	run grep -iE 'refuse|perm|denied' messages
	assert_output ''
	run redis ACL LOG
	assert_output ''
}

@test "man page: the list of commands names none that is not needed" {
	local rule word
	read -ra rule <<<"$(acl_rule)"
	for word in "${rule[@]}"; do
		case $word in +*) ;; *) continue ;; esac
		redis ACL SETUSER dlock reset "${rule[@]}" "-${word#+}" >/dev/null
		redis ACL LOG RESET >/dev/null
		# It stops at the first thing that goes wrong: on a busy machine that may be a lease of 1 s.
		for _ in 1 2 3; do
			use_everything 2>/dev/null || true
			[ -z "$(redis ACL LOG)" ] || break
		done
		[ -n "$(redis ACL LOG)" ] || { echo "not needed: $word"; return 1; }
	done
}

@test "CHECK_ACL=1: dlock may use lock:* and nothing dangerous, the tests' redis-cli everything" {
	sed 's/^TEST/@test/' >inner.bats <<-'END'
		load "$TESTS_DIR/helpers/common"
		setup() { common_setup; start_redis; }
		may_not() {
			"$REAL_REDIS_CLI" -s "$REDIS_SOCK" "$@" 2>&1 | grep '^NOPERM'
		}
		TEST "inner" {
			for command in 'INFO' 'CONFIG GET port' 'FLUSHALL' 'KEYS *' 'GET other' 'PUBLISH other x'; do
				may_not $command
				! redis $command 2>&1 | grep '^NOPERM'
			done
			"$REAL_REDIS_CLI" -s "$REDIS_SOCK" SET lock:x y | grep OK
			run -77 "$DLOCK" --prefix other: job true
			"$DLOCK" job true
			permit_keys 'other:*'
			"$DLOCK" --prefix other: job true
			forbid_keys
			run -77 "$DLOCK" --prefix other: job true
		}
	END
	TESTS_DIR=$TESTS_DIR CHECK_ACL=1 run bats inner.bats
	assert_success
}
