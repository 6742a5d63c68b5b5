#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What a user of the server must be allowed (dlock(1), Access control), and that the suite can be run
# with dlock as a user who may do little (CHECK_ACL=1, helpers/server.bash).

load helpers/common
load helpers/life

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

@test "a user with the rights that the man page lists can do everything, and names no key but the lock's (P94)" {
	make_user
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	run live "$USER_URL"
	assert_success
	refute_output --regexp 'NOPERM|permission|may not'
	assert_equal "$(redis ACL LOG)" ''
	# What the list names is what was used, or what stands in a script: no more.
	diff <({ used_by_commands <monitor; used_by_scripts; } | sort -u) <(listed_commands | seen_by_monitor)
	run "$TESTS_DIR/helpers/monitor_keys.py" lock: <monitor
	assert_success
}

# Before 7.0 MONITOR does not show CLIENT.
seen_by_monitor() {
	if server_has 7.0; then cat; else grep -v '^client|'; fi
}

@test "CHECK_ACL=1: dlock may use lock:* and nothing dangerous, the tests' redis-cli everything" {
	sed 's/^TEST/@test/' >inner.bats <<-'END'
		load "$TESTS_DIR/helpers/common"
		setup() { common_setup; start_redis; }
		may_not() {
			"$REAL_REDIS_CLI" -s "$REDIS_SOCK" "$@" 2>&1 | grep '^NOPERM'
		}
		TEST "inner" {
			commands=('INFO' 'CONFIG GET port' 'FLUSHALL' 'KEYS *' 'GET other')
			! server_has 6.2 || commands+=('PUBLISH other x') # which has rights for channels
			for command in "${commands[@]}"; do
				may_not $command
				if redis $command 2>&1 | grep '^NOPERM'; then return 1; fi
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
