#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Users, passwords and databases as real servers have them, and a user that changes while the lock is
# waited for or held. (Where a password comes from, and that nobody sees it: passwords.bats. One that
# changes or hangs while holding: passwords_holding.bats. What a user needs: acl.bats. The login's
# answers one by one: unit/redis_login_test.c.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/secrets

setup() {
	common_setup
	start_redis
}

confirmed_more_than() {
	[ "$(grep -c 'confirmed t0=' "$DLOCK_LOG")" -gt "$1" ]
}

# The user and the password of ann, from now on.
set_ann() {
	redis_line "ACL SETUSER ann reset on >$1 ~* &* +@all" >/dev/null
}

# hold ARG...: a COMMAND that runs until `finish`.
hold() {
	start_dlock -vv "$@" job sh -c 'echo "$DLOCK_TOKEN" >token; until [ -e go ]; do sleep 0.02; done; exit 7'
	wait_until 5s test -s token
	wait_until 3s running "$OUTER"
}

finish() {
	assert_equal "$(redis GET lock:job)" "$(<token)"
	assert_alive "$COMMAND"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 7 ] || { show_scene >&2; return 1; }
	free job
}

@test "a user and a password with what a URL cannot have, percent-encoded; not so in a file or a variable" {
	local user='ann@corp:a/b%20' password='p@ss:w/rd%3F?#[]{}|^"\+é' at=127.0.0.1:$REDIS_PORT
	local user_in_url='ann%40corp%3Aa%2Fb%2520'
	local password_in_url='p%40ss%3Aw%2Frd%253F%3F%23%5B%5D%7B%7D%7C%5E%22%5C%2B%C3%A9'
	printf '%s\n' "$password" >pw
	redis ACL SETUSER "$user" on ">$password" '~*' '&*' +@all >/dev/null
	run -0 dlock -S "redis://$user_in_url:$password_in_url@$at" job \
		sh -c 'redis-cli -s "$REDIS_SOCK" CLIENT LIST'
	assert_line --regexp "name=dlock .*user=ann@corp:a/b%20( |$)"
	run -0 dlock -S "redis://$user_in_url@$at" --password-file pw job echo ran
	assert_output ran
	DLOCK_PASSWORD=$password run -0 dlock -S "redis://$user_in_url@$at" job echo ran
	assert_output ran
	# The encoded form is not the password.
	DLOCK_PASSWORD=$password_in_url run -77 dlock -S "redis://$user_in_url@$at" job touch ran
	run -77 dlock -S "redis://$user_in_url:${password_in_url/\%253F/%3F}@$at" job touch ran
	assert_output --partial "at redis://ann%40corp%3aa%2fb%2520:***@$at: the server says: WRONGPASS"
	[ ! -e ran ]
}

@test "a default user without a password: none is sent; a password, or default's name, is of no harm where the server takes any" {
	local at=127.0.0.1:$REDIS_PORT
	run -0 dlock -S "redis://$at" job true
	refute_used auth
	run -0 dlock -S "redis://default@$at" job true
	run -0 dlock -S "redis://default:anything@$at" job true
	DLOCK_PASSWORD=anything run -0 dlock -S "redis://default@$at" job true
	# Without a user's name the server itself finds that strange, and says so: a password that is not
	# used would be thought to protect something.
	run -77 dlock -S "redis://:anything@$at" job touch ran
	assert_output --partial 'without any password configured'
	# Users without a password beside it.
	redis ACL SETUSER bob on nopass '~*' '&*' +@all >/dev/null
	run -0 dlock -S "redis://bob@$at" job true
	run -0 dlock -S "redis://bob:anything@$at" job true
	# A default user that is off, as many have it: told what to do.
	redis ACL SETUSER admin on nopass '~*' '&*' +@all >/dev/null
	redis ACL SETUSER default off >/dev/null
	run -77 dlock -S "redis://$at" job touch ran
	assert_output --partial 'NOAUTH'
	assert_output --partial '(give a password: --password-file, DLOCK_PASSWORD)'
	run -0 dlock -S "redis://bob@$at" job true
	[ ! -e ran ]
}

refute_used() {
	! redis INFO commandstats | grep "^cmdstat_$1:"
}

@test "the lock is in the database that the URL names, and only there" {
	local at=127.0.0.1:$REDIS_PORT
	run -0 dlock -S "redis://$at/7" job sh -c 'redis-cli -s "$REDIS_SOCK" -n 7 EXISTS lock:job
		redis-cli -s "$REDIS_SOCK" -n 0 EXISTS lock:job'
	assert_output $'1\n0'
	run -0 dlock -S "unix://$REDIS_SOCK?db=7" job sh -c 'redis-cli -s "$REDIS_SOCK" -n 7 EXISTS lock:job'
	assert_output 1
	hold -t 3s -S "redis://$at/7"
	assert_equal "$(redis -n 7 GET lock:job)" "$(<token)"
	run -75 dlock -n -S "redis://$at/7" job true
	run -0 dlock -n -S "redis://$at/6" job true
	# After another login, too.
	local count
	count=$(grep -c 'confirmed t0=' "$DLOCK_LOG")
	cut_connections
	wait_until 3s confirmed_more_than "$count"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 7 ]
	[ "$(redis -n 7 EXISTS lock:job)" = 0 ]
}

@test "a database that is not there: 69 and the reason; SELECT that the user may not, or the server does not have: 77, 69" {
	local at=127.0.0.1:$REDIS_PORT
	run -69 dlock -S "redis://$at/16" job touch ran
	assert_output "dlock: cannot lock 'job' at redis://$at/16: the server says: ERR DB index is out of range"
	run -69 dlock --if-unreachable run -S "redis://$at/2147483647" job touch ran
	redis ACL SETUSER ann on nopass '~*' '&*' +@all -select >/dev/null
	run -77 dlock -S "redis://ann@$at/1" job touch ran
	assert_output --partial 'NOPERM'
	assert_output --partial 'under Access control'
	run -0 dlock -S "redis://ann@$at/0" job true
	[ ! -e ran ]
	stop_redis
	start_redis --rename-command SELECT ''
	run -69 dlock -S "redis://127.0.0.1:$REDIS_PORT/1" job touch ran
	assert_output --partial "unknown command"
	run -0 dlock -S "redis://127.0.0.1:$REDIS_PORT" job true
	[ ! -e ran ]
}

@test "a user that is removed and comes back with another password while the lock is held: the file is read again, it is kept" {
	local count
	echo first >pw
	set_ann first
	hold -t 5s -S "redis://ann@127.0.0.1:$REDIS_PORT" --password-file pw
	count=$(grep -c 'confirmed t0=' "$DLOCK_LOG")
	redis ACL DELUSER ann >/dev/null # which ends its connections
	wait_until 4s grep -q WRONGPASS "$DLOCK_LOG"
	set_ann second
	echo second >pw
	wait_until 3s confirmed_more_than "$count"
	finish
}

@test "a user that loses a right while holding: told, tried again until it has it back, the lock is kept" {
	local count
	set_ann first
	hold -t 5s -S "redis://ann:first@127.0.0.1:$REDIS_PORT"
	count=$(grep -c 'confirmed t0=' "$DLOCK_LOG")
	redis ACL SETUSER ann -eval >/dev/null
	wait_until 4s grep -q 'cannot renew.*NOPERM' "$DLOCK_LOG"
	redis ACL SETUSER ann +eval >/dev/null
	wait_until 3s confirmed_more_than "$count"
	finish
}

@test "a password that is changed while the lock is waited for: of the file or the command, asked again at the next login" {
	local row
	redis ACL SETUSER admin on nopass '~*' '&*' +@all >/dev/null
	for row in '--password-file pw' "--password-command 'echo >>calls; cat pw'"; do
		rm -f go token
		: >calls
		echo first >pw
		set_ann first
		steal job somebody 60000
		: >"$DLOCK_LOG"
		eval "start_dlock -vv -t 3s -w 30s -S redis://ann@127.0.0.1:$REDIS_PORT $row job echo ran >ran"
		wait_until 3s grep -q 'waiting for' "$DLOCK_LOG"
		set_ann second
		echo second >pw
		cut_connections
		wait_until 5s eval '[ "$(redis ZCARD "lock:job#queue{lock:job}")" = 1 ]'
		redis DEL lock:job >/dev/null
		exit_status_of "$OUTER" 10s
		[ "$STATUS" -eq 0 ] || { show_scene >&2; return 1; }
		assert_equal "$(<ran)" ran
		refute_log first
	done
	assert_equal "$(grep -c '' calls)" 2
}

refute_log() {
	! grep -F -e WRONGPASS -e "$1" "$DLOCK_LOG"
}
