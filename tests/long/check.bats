#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --check of servers that can be used: what it tells, that it tells it as JSON, and that it leaves no
# trace. What is wrong with a server is in check_bad.bats.
#
# shellcheck disable=SC2016,SC2034,SC2154 # dollars for another shell; output, lines, stderr are set by run

load ../helpers/common
load ../helpers/checks
load ../helpers/proxy

setup_file() { start_redis --appendonly yes; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

@test "--check: a good server: a fact a line, the verdict last, status 0, nothing on stderr" {
	run -0 --separate-stderr dlock --check
	[ -z "$stderr" ]
	[ "${lines[-1]}" = 'verdict: good' ]
	[ "${lines[0]}" = "server: $URL_UNIX" ]
	assert_line --regexp '^reached: connected in [0-9.]+ ms, logged in in [0-9.]+ ms$'
	assert_line --partial "version: $(server_version)"
	assert_line --regexp "^run id: $(server_field run_id), up for "
	assert_line "keys: database 0, prefix 'lock:'"
	assert_line 'role: master, mode: standalone'
	assert_line 'persistence: append-only file, appendfsync everysec, no snapshots'
	assert_line --regexp '^memory: [0-9]+ [KM]iB, no limit, noeviction$'
	assert_line 'replicas: 0, min-replicas-to-write 0'
	assert_line --regexp '^clients: [0-9]+ of [0-9]+$'
	assert_line --regexp '^round trips: 20, the shortest 0\.[0-9]+ ms, the median [0-9.]+ ms, the longest [0-9.]+ ms$'
	assert_line --regexp '^hand-off: the next in line was told after [0-9.]+ ms$'
	assert_line 'works: locks, waiting, messages, foreign, watch, shared, slots, counter, status, list, break'
	[ "${#lines[@]}" -eq 16 ]
}

@test "--check: the same by TCP, by a name, with what the look-up took" {
	run -0 dlock -S "redis://localhost:$REDIS_PORT" --check
	assert_line --regexp '^reached: name looked up in [0-9.]+ ms, connected in '
	[ "${lines[-1]}" = 'verdict: good' ]
	refute_line --partial 'path:'
	run -0 dlock -S "$URL_TCP" --check
	assert_line --regexp '^reached: connected in '
	run -0 --separate-stderr dlock -S "$URL_TCP" --check --json
	checked 's["lookup_us"] is None'
}

@test "--check --json: an array of one object, as dlock(1) says" {
	run -0 --separate-stderr dlock --check --json
	checked 's["verdict"] == "good" and s["reasons"] == [] and s["reached"] is True and s["server"] == "'"$URL_UNIX"'"'
	checked 's["lookup_us"] is None and 0 < s["connect_us"] < 5000000 and 0 < s["login_us"] < 5000000'
	checked "s['run_id'] == '$(server_field run_id)' and s['product'] + ' ' + s['version'] == '$(server_version)'"
	checked 's["appendonly"] is True and s["appendfsync"] == "everysec" and s["save"] == "" and s["loading"] is False'
	checked 's["db"] == 0 and s["prefix"] == "lock:" and s["role"] == "master" and s["mode"] == "standalone"'
	checked '0 < s["round_trip_min_us"] <= s["round_trip_median_us"] <= s["round_trip_max_us"] and s["round_trips"] == 20'
	checked 'abs(s["clock_us"]) < 1000000 and s["clock_error_us"] < 1000000 and 0 < s["handoff_us"] < 1000000'
	checked 'all(each["works"] is True and each["missing"] == [] and each["why"] is None for each in s["features"])'
	checked 's["used_memory"] > 500000 and s["maxmemory"] == 0 and s["maxmemory_policy"] == "noeviction"'
	checked 's["timeout_s"] == 0 and s["maxclients"] > 100 and 0 < s["clients"] < 10 and s["seen_as"] is None'
}

@test "--check -q: the verdict alone; with --json -q changes nothing" {
	run -0 dlock -q --check
	[ "$output" = 'verdict: good' ]
	run -0 --separate-stderr dlock -q --check --json
	checked 's["verdict"] == "good" and len(s["features"]) == 11'
}

@test "--check: database and prefix are those of the locks" {
	permit_keys 'night:*'
	run -0 dlock -S "redis://127.0.0.1:$REDIS_PORT/3" --prefix night: --check
	assert_line "keys: database 3, prefix 'night:'"
	run -0 --separate-stderr dlock -S "redis://127.0.0.1:$REDIS_PORT/3" --prefix night: --check --json
	checked 's["db"] == 3 and s["prefix"] == "night:"'
}

@test "--check: what a lease bridges, by its TTL and grace, from wherever they come" {
	run -0 dlock --check
	assert_line 'absence of the server that a TTL of 30.0s bridges: 13.6s at the most, 8.6s surely'
	run -0 dlock --check -t 60s
	assert_line 'absence of the server that a TTL of 1m00s bridges: 33.3s at the most, 23.3s surely'
	DLOCK_TTL=60s run -0 dlock --check -k 1s
	assert_line 'absence of the server that a TTL of 1m00s bridges: 37.3s at the most, 27.3s surely'
	run -0 --separate-stderr dlock --check --json -t 20s
	checked 's["ttl_ms"] == 20000 and s["outage_ms"] == 7131 and s["outage_sure_ms"] == 3798'
	run -64 dlock --check -t 3s -k 2s
	assert_output --partial 'leaves no room for a renewal'
	DLOCK_TTL=0 run -78 dlock --check
}

@test "--check: two servers are told apart by their run ids, and one is known again" {
	local one other
	run -0 --separate-stderr dlock -S "$URL_UNIX" --check --json
	one=$(run_id_of)
	run -0 --separate-stderr dlock -S "$URL_TCP" --check --json
	[ "$(run_id_of)" = "$one" ]
	redis-server --port 0 --unixsocket "$WORK/s" --save "" --dir "$WORK" >/dev/null 3>&- &
	track $!
	wait_until 5s test -S "$WORK/s"
	run -0 --separate-stderr dlock -S "unix://$WORK/s" --check --json
	other=$(run_id_of)
	[ "${#other}" -eq 40 ]
	[ "$other" != "$one" ]
}

@test "--check: a proxy is seen, and its delay is in the round trips" {
	start_proxy
	run -0 dlock --check
	# Which it asks the server, and not one before 6.2.
	! server_has 6.2 || assert_line --regexp '^path: the server sees this connection come from '
	proxy delay 15
	run -0 --separate-stderr dlock --check --json
	checked '15000 <= s["round_trip_min_us"] and s["clock_error_us"] >= 7500'
	! server_has 6.2 || checked 's["seen_as"] is not None'
	checked 'abs(s["clock_us"]) <= s["clock_error_us"] + 2000'
}

@test "--check: two servers behind one address: unfit" {
	local target=$WORK/s
	redis-server --port 0 --unixsocket "$WORK/s" --save "" --dir "$WORK" >/dev/null 3>&- &
	track $!
	wait_until 5s test -S "$WORK/s"
	cat >spread.py <<-'END'
		import socket, sys, threading
		targets = sys.argv[2:]
		def pump(one, other):
		    while data := one.recv(65536):
		        other.sendall(data)
		    other.shutdown(socket.SHUT_WR)
		listener = socket.socket(socket.AF_UNIX)
		listener.bind(sys.argv[1])
		listener.listen()
		while True:
		    client, _ = listener.accept()
		    server = socket.socket(socket.AF_UNIX)
		    server.connect(targets[0])
		    targets.append(targets.pop(0))
		    for pair in (client, server), (server, client):
		        threading.Thread(target=pump, args=pair, daemon=True).start()
	END
	start python3 spread.py "$WORK/p" "$REDIS_SOCK" "$WORK/s"
	wait_until 5s test -S "$WORK/p"
	run -69 --separate-stderr dlock -S "unix://$WORK/p" --check --json
	checked 's["verdict"] == "unfit" and codes[0] == "several-servers"'
	run -69 dlock -S "unix://$WORK/p" --check
	[[ "${lines[-1]}" == 'verdict: unfit: two connections were shown two servers (run id '* ]]
}

@test "--check: no trace is left, and no key is touched but those of its own lock" {
	local before
	dlock --at-least 60s other true
	start_dlock busy sleep 97
	wait_until 5s held busy
	start_dlock busy true
	wait_until 5s in_line busy 1
	before=$(all_keys)
	start_monitor
	run -0 dlock --check
	stop_monitor
	assert_equal "$(all_keys)" "$before"
	writes='"(set|del|incr|h[a-z]*|z[a-z]*|pexpire|pexpireat|persist|publish|flush[a-z]*)"'
	[ "$(grep -ciE "$writes \"lock:dlock-check-" monitor.log)" -gt 50 ]
	run grep -iE '"(config" "set|flush[a-z]*|swapdb|eval_ro|script" "(load|flush|kill)|function|keys|debug)"' monitor.log
	assert_output ''
	run grep -viE "$writes \"lock:dlock-check-|\"(eval|evalsha|get|getrange|pttl|exists|type|time|scan|multi|exec|hello|info|client|subscribe|unsubscribe|pubsub)\"|\"config\" \"get\"|\"script\" \"exists\"|^OK" monitor.log
	assert_output ''
	run grep -o '"lock:[^"]*"' monitor.log
	[ "${#lines[@]}" -gt 50 ]
	run grep -v '"lock:dlock-check-' <<<"$output"
	assert_output ''
}

@test "--check: a signal ends it at once, and nothing is left" {
	local try
	for try in 20 40 60 80; do
		start_proxy
		proxy delay 10
		start_dlock --check >/dev/null
		wait_until 10s scripts_passed "$((try / 20))"
		kill -TERM "$OUTER"
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 143 ]
		wait_until 8s no_keys
	done
}

@test "--check: what it has asked is answered before a signal ends it; a second signal, or a second, ends it at once" {
	local verb end
	for verb in ACQUIRE RELEASE; do
		begin_check_that_waits "$verb"
		kill -TERM "$OUTER"
		sleep 0.2
		alive "$OUTER"
		proxy pass
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 143 ]
		wait_until 2s no_keys
	done
	for end in twice late; do
		begin_check_that_waits ACQUIRE
		start_clock
		kill -TERM "$OUTER"
		[ "$end" = late ] || kill -INT "$OUTER"
		exit_status_of "$OUTER"
		case $end in
		twice) assert_between 0 700 "$(clock_ms)" 'ms after the second signal' ;;
		late) assert_between 900 2500 "$(clock_ms)" 'ms after the only one' ;;
		esac
		[ "$STATUS" -gt 128 ]
	done
}

# begin_check_that_waits VERB: for the answer to that request of one of its parties, which is held back.
begin_check_that_waits() {
	start_proxy
	: >"$PROXY_LOG"
	proxy on "$1" here keep
	start_dlock --check >/dev/null
	wait_until 10s grep -q '!keep' "$PROXY_LOG"
}

scripts_passed() {
	[ "$(grep -cE ' (EVAL|ACQUIRE|RENEW|[?])' "$PROXY_LOG")" -ge "$1" ]
}

@test "--check: what can stand at the keys of a lock does not matter to it; any prefix does" {
	permit_keys '*'
	run -0 dlock --prefix '' --check
	[ "${lines[-1]}" = 'verdict: good' ]
	run -0 dlock --prefix '{tag}:' --check
	[ "${lines[-1]}" = 'verdict: good' ]
	run -0 dlock --prefix "$(printf 'p%.0s' {1..512})" --check
	[ "${lines[-1]}" = 'verdict: good' ]
	run -0 --separate-stderr dlock --prefix $'a\e]0;x\a"\\\xff[*' --check --json
	checked 's["prefix"] == "a\x1b]0;x\x07\"\\\\xff[*"'
	run -0 dlock --prefix $'a\e]0;x\a\xff:' --check
	assert_line "keys: database 0, prefix 'a\\x1b]0;x\\x07\\xff:'"
	no_keys
	run -64 dlock --prefix 'a{' --check
	DLOCK_PREFIX='a{' run -78 dlock --check
}

@test "--check: what it asks of rights is what the scripts use, each command of them" {
	local command
	grep -hoE "(call|look)\('[A-Z]+'(, '[A-Z]+')?" "$ROOT_DIR"/src/store/lua/{queue,holder,describe,acquire,confirm,renew,renew_alone,renew_member,release,release_alone,status,survey,list,break}.lua |
		sed -E -e "s/^(call|look)\(//" -e "s/'PUBSUB', '((SHARD)?NUMSUB)'/'PUBSUB \\1'/" -e "s/, .*//" -e "s/'//g" | sort -u >used
	[ "$(wc -l <used)" -ge 28 ]
	while read -r command; do
		grep -q "'${command%% *}'" "$ROOT_DIR/src/store/lua/check.lua" || fail "not tried: $command"
		grep -q "{\"$command\", " "$ROOT_DIR/src/view/check_facts.c" || fail "of no feature: $command"
	done <used
}

@test "--check: it does not go with a NAME, with what is for runs, or with another report" {
	run -64 dlock --check job
	assert_output --partial '--check takes no NAME'
	run -64 dlock --check -n
	assert_output --partial 'does not go with --check'
	run -64 dlock --check --status job
	run -64 dlock --check --force
	run -64 dlock -t 10s --status job
	assert_output --partial 'does not go with --status'
	run -64 dlock -S '' --check
	env -u DLOCK_SERVER "$DLOCK" --check 2>err && fail 'no server'
	grep -q 'no server' err
}

@test "--check: a password is asked for by each connection, and is in no line" {
	redis ACL SETUSER pw on '>Secret1234' '~*' '&*' +@all >/dev/null
	printf '#!/bin/sh\necho x >>"%s"\necho Secret1234\n' "$WORK/asked" >ask
	chmod +x ask
	run -0 dlock -S "redis://pw@127.0.0.1:$REDIS_PORT" --password-command "$WORK/ask" --check
	[ "${lines[-1]}" = 'verdict: good' ]
	[ "$(wc -l <asked)" -eq 4 ]
	run -0 dlock -S "redis://pw:Secret1234@127.0.0.1:$REDIS_PORT" --check --json
	refute_output --partial Secret1234
	assert_output --partial 'pw:***@'
}
