#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC section 6: several -S, a majority of independent servers. Three nodes for the whole file.

load helpers/common
load helpers/quorum
load helpers/tls

setup_file() { start_quorum 3; }
teardown_file() { stop_quorum; }
setup() {
	common_setup
	fresh_quorum
}

fence_of() {
	sed -n 's/^DLOCK_FENCE=//p' "$1"
}

@test "a lock is held on all nodes that are well, by one token, under one number, and leaves nothing but that" {
	run dlock -v --min-fence 9 job sh -c 'env >env; for s in "$@"; do redis-cli -s "$s" GET lock:job; done >tokens' sh \
		"$(dir_of_node 1)/s" "$(dir_of_node 2)/s" "$(dir_of_node 3)/s"
	assert_success
	assert_equal "$(sort -u tokens | grep -c .)" 1
	assert_equal "$(sort -u tokens)" "$(sed -n 's/^DLOCK_TOKEN=//p' env)"
	assert_output --partial "fence $(fence_of env)"
	for k in 1 2 3; do
		assert_equal "$(node $k KEYS '*')" "$(rfence_key_of job)"
		assert_equal "$(node $k GET "$(rfence_key_of job)")" "$(fence_of env):$(sort -u tokens)"
		assert_between 2591990000 2592000000 "$(node $k PTTL "$(rfence_key_of job)")"
	done
}

@test "held by another: 75 and who it is with -n, and waited for without" {
	start_dlock job sleep 1
	wait_until 2s on_nodes 3 job
	run dlock -n job touch ran
	assert_failure 75
	assert_output --regexp "'job' is held by .* pid $OUTER sleep"
	[ ! -e ran ]
	run dlock -w 5s job touch ran
	assert_success
	[ -e ran ]
}

@test "one frozen node costs nothing, and keeps nothing when it wakes" {
	freeze_node 2
	start_clock
	run dlock job touch ran
	assert_success
	assert_between 0 900 "$(clock_ms)" # its limit is T/20 = 1.5 s
	[ -e ran ]
	thaw_node 2
	wait_until 2s node_answers 2
	wait_until 2s on_nodes 0 job
}

eval_count() {
	node "$1" INFO commandstats | sed -n 's/^cmdstat_eval:calls=\([0-9]*\),.*/\1/p'
}

has_run_scripts() {
	[ "$(eval_count "$1")" -ge "$2" ]
}

@test "a node that freezes under a waiter costs its limit once, not once an attempt" {
	for k in 1 2; do node $k SET lock:job another PX 60000 >/dev/null; done
	start_dlock -t 60s -w 40s job touch ran # the limit is T/20 = 3 s
	wait_until 3s has_run_scripts 1 1
	freeze_node 3
	node 2 DEL lock:job >/dev/null # so that the vote of the third would decide
	sleep 4                        # that limit, and what was under way
	before=$(eval_count 1)
	wait_until 8s has_run_scripts 1 $((before + 6)) # after pauses of half a second, not of three and a half
	[ ! -e ran ]
	thaw_node 3
	wait_until 8s test -e ran
}

@test "one dead node costs nothing, either; -v names it, and says when it is back" {
	kill_node 3
	run dlock job touch ran
	assert_success
	assert_output ''
	run dlock -v job touch ran
	assert_success
	assert_line "dlock: $(url_of_node 3): Connection refused"
	start_dlock -v -t 2s job sh -c 'until [ -e over ]; do sleep 0.05; done'
	wait_until 2s on_nodes 2 job
	restart_node 3
	wait_until 5s grep -qF "$(url_of_node 3) answers again" "$DLOCK_LOG"
	touch over
	wait "$OUTER"
	wait_until 2s on_nodes 0 job
}

@test "no majority: 69, with the reason of each; --if-unreachable where no server answers" {
	kill_node 1
	kill_node 3
	run dlock job touch ran
	assert_failure 69
	assert_output --regexp 'fewer than 2 of 3 nodes vote: unix:.*: Connection refused; unix:.*: Connection refused'
	[ ! -e ran ]
	run dlock --if-unreachable run job sh -c 'echo "$DLOCK_UNLOCKED"'
	assert_success
	assert_line 1
	run dlock --if-unreachable skip job touch ran
	assert_success
	[ ! -e ran ]
}

@test "a waiter goes on when a majority is back" {
	freeze_node 1
	freeze_node 2
	start_dlock -t 2s -w 10s job touch ran
	sleep 0.3
	[ ! -e ran ]
	thaw_node 1
	thaw_node 2
	wait_until 5s test -e ran
	wait_until 2s on_nodes 0 job
}

@test "R43: what the first attempt left does not block the second, which has another token" {
	for k in 1 2; do
		start_node_proxy $k
		tell_proxy $k on EVAL stop "$(pid_of_node $k)"
	done
	start redis-cli -s "$(dir_of_node 3)/s" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	start_dlock -t 2s -w 10s -S "$(url_of_proxy 1)" -S "$(url_of_proxy 2)" -S "$(url_of_node 3)" \
		job sh -c 'echo "$DLOCK_TOKEN" >token; sleep 0.2'
	wait_until 3s grep -q '"SET" "lock:job"' monitor
	sleep 0.3 # the pause of two of the three
	[ ! -e token ]
	thaw_node 1
	thaw_node 2
	start_clock
	wait_until 3s test -s token
	assert_between 0 1000 "$(clock_ms)"
	grep -o '"SET" "lock:job" "[0-9a-f-]*"' monitor | uniq >tokens
	assert_between 2 20 "$(wc -l <tokens)"
	assert_equal "$(sort -u tokens | wc -l)" "$(wc -l <tokens)"
	assert_equal "$(tail -n 1 tokens)" "\"SET\" \"lock:job\" \"$(<token)\""
	wait_until 2s on_nodes 0 job
}

@test "what was taken at a node whose connection then ends is given back there on the next one" {
	start_node_proxy 3
	tell_proxy 3 every EVAL here delay 1300 # its limit is T/20 = 1.5 s
	for k in 2 3; do node $k SET lock:job another PX 20000 >/dev/null; done # no majority is to be had
	start_dlock -w 20s -S "$(url_of_node 1)" -S "$(url_of_node 2)" -S "$(url_of_proxy 3)" job touch ran
	wait_until 2s on_nodes 3 job
	cut_node 1 # before the third has answered
	token=$(node 1 GET lock:job)
	[ -n "$token" ]
	tell_proxy 3 pass
	wait_until 5s another_than "$token" # the attempts that follow have others
	kill -TERM "$OUTER"
	wait_until 2s gone "$OUTER"
	wait_until 2s on_nodes 2 job
	[ ! -e ran ]
}

another_than() {
	[ "$(node 1 GET lock:job)" != "$1" ]
}

@test "R42: a majority that answers when the lease is over is no lock" {
	for k in 1 2; do
		start_node_proxy $k
		tell_proxy $k every EVAL here delay 1100
	done
	run dlock -n -t 1s -S "$(url_of_proxy 1)" -S "$(url_of_proxy 2)" -S "$(url_of_node 3)" job touch ran
	assert_failure 69
	[ ! -e ran ]
	wait_until 5s on_nodes 0 job
}

@test "a request that arrives when nobody wants it any more takes nothing" {
	for k in 1 2 3; do
		start_node_proxy $k
		tell_proxy $k every EVAL here orphan # it is kept back, and dlock hears that the connection is gone
		node $k CONFIG RESETSTAT >/dev/null
	done
	run dlock -n -t 2s -S "$(url_of_proxy 1)" -S "$(url_of_proxy 2)" -S "$(url_of_proxy 3)" job touch ran
	assert_failure 69
	[ ! -e ran ]
	sleep 0.3 # its time is max(50 ms, T/20)
	for k in 1 2 3; do tell_proxy $k pass; done
	wait_until 2s have_run_scripts # it was sent to a majority at least
	assert_equal "$(values_on_nodes job)" ''
}

have_run_scripts() {
	local k count=0
	for k in 1 2 3; do
		! node $k INFO commandstats | grep -q '^cmdstat_eval:' || count=$((count + 1))
	done
	[ "$count" -ge 2 ]
}

@test "numbers increase whichever majority it was" {
	for turn in {1..9}; do
		frozen=$((turn % 3 + 1))
		freeze_node $frozen
		dlock job sh -c 'echo $DLOCK_FENCE' >>fences
		thaw_node $frozen
	done
	strictly_increasing fences
	assert_equal "$(wc -l <fences)" 9
}

@test "the naive rule repeats them: each node counts, the highest of a majority is taken" {
	for turn in {1..9}; do
		frozen=$((turn % 3 + 1))
		freeze_node $frozen
		DLOCK_TEST_HOOKS=naive-quorum "$DLOCK_TEST_BUILD" job sh -c 'echo $DLOCK_FENCE' >>fences
		thaw_node $frozen
		wait_until 2s node_answers $frozen
	done
	assert_equal "$(wc -l <fences)" 9
	run strictly_increasing fences
	assert_failure
}

@test "a node that restarts empty while the lock is held has it again, under its number" {
	start_dlock -t 2s job sh -c 'echo $DLOCK_FENCE >fence; until [ -e over ]; do sleep 0.05; done'
	wait_until 2s on_nodes 3 job
	token=$(node 1 GET lock:job)
	forget_node 3
	wait_until 10s on_nodes 3 job
	assert_equal "$(node 3 GET lock:job)" "$token"
	assert_equal "$(node 3 GET "$(rfence_key_of job)")" "$(<fence):$token"
	assert_alive "$OUTER"
	touch over
	wait "$OUTER"
	wait_until 2s on_nodes 0 job
}

@test "not when another has come after it there" {
	start_dlock -t 2s job sleep 3 # four renewals
	wait_until 2s on_nodes 3 job
	node 3 SET "$(rfence_key_of job)" 9007199254740993:another PX 100000 >/dev/null
	node 3 DEL lock:job >/dev/null
	wait "$OUTER"
	assert_equal "$(node 3 GET "$(rfence_key_of job)")" 9007199254740993:another
	assert_equal "$(node 3 EXISTS lock:job)" 0
	kill_node 1 # that one's vote is needed
	dlock job sh -c 'echo $DLOCK_FENCE' >fence # and it is above what it has accepted
	assert_equal "$(<fence)" 9007199254740994
}

# accept TOKEN NUMBER: phase 2 at node 1.
accept() {
	node 1 EVAL "$(sed -e "/^-- include rfence.lua/r $ROOT_DIR/src/store/lua/rfence.lua" "$ROOT_DIR/src/store/lua/node_accept.lua")" \
		3 lock:job "$(rfence_key_of job)" 'lock:job#info{lock:job}' "$1" "$2" record | head -n 1
}

@test "a node accepts a number above its last one, or the same once more, from whom it has the key" {
	assert_equal "$(accept a 5)" GONE
	node 1 SET lock:job b PX 60000 >/dev/null
	assert_equal "$(accept a 5)" GONE
	assert_equal "$(node 1 EXISTS "$(rfence_key_of job)")" 0
	assert_equal "$(accept b 9007199254740993)" ACCEPTED
	assert_equal "$(accept b 9007199254740993)" ACCEPTED
	assert_equal "$(accept b 9007199254740992)" LOW # the same as a double
	assert_equal "$(accept b 999)" LOW
	node 1 SET lock:job c PX 60000 >/dev/null
	assert_equal "$(accept c 9007199254740993)" LOW
	assert_equal "$(accept c 9007199254740994)" ACCEPTED
	assert_equal "$(node 1 GET "$(rfence_key_of job)")" 9007199254740994:c
}

@test "a majority that restarts empty: the lock is lost, and is not taken again" {
	start_dlock -t 9s job sleep 30
	wait_until 2s on_nodes 3 job
	forget_node 1
	forget_node 2
	status=0
	wait "$OUTER" || status=$?
	assert_equal "$status" 79
	assert_regex "$(<"$DLOCK_LOG")" "lost 'job': the key is gone"
	assert_equal "$(values_on_nodes job)" '' # nor is it left where it was not forgotten
}

@test "two nodes frozen while it is held: COMMAND is dead before the lease is over" {
	start_dlock -t 1s -k 100ms job sh -c 'trap "" TERM; while :; do date +%s%N >stamp; sleep 0.01; done'
	wait_until 2s test -s stamp
	freeze_node 1
	freeze_node 2
	status=0
	wait "$OUTER" || status=$?
	assert_equal "$status" 79
	stamp=$(<stamp)
	thaw_node 1
	thaw_node 2
	sleep 0.1
	assert_equal "$(<stamp)" "$stamp"
}

@test "a node that has been up for less than --quarantine does not vote" {
	forget_node 1
	forget_node 2
	run dlock --quarantine 100s job touch ran
	assert_failure 69
	assert_output --regexp 'up for [0-9.]+s, less than the --quarantine of 1m40s; .*; with -w that is waited for$'
	assert_equal "$(node 1 KEYS '*')$(node 2 KEYS '*')$(node 3 KEYS '*')" ''
	run dlock --quarantine 1s -w 10s job touch ran
	assert_success
}

@test "who may not use INFO: a node votes when it has been watched for that long" {
	for k in 1 2 3; do
		node $k ACL SETUSER plain on nopass '~*' '&*' +@all -info >/dev/null
	done
	urls=()
	for k in 1 2 3; do
		urls+=(-S "redis://plain:@127.0.0.1:$(<"$(dir_of_node $k)/port")")
	done
	run dlock "${urls[@]}" --quarantine 1s -n job true
	assert_failure 69
	assert_output --partial 'for how long it has been up it does not tell (this user lacks +info)'
	start_clock
	run dlock "${urls[@]}" --quarantine 1s -w 8s job true
	assert_success
	assert_between 1000 8000 "$(clock_ms)"
	run dlock "${urls[@]}" --quarantine 0 -n job true
	assert_success
}

@test "R49: ten that come at once have it one after the other, within 15 s, with increasing numbers" {
	start_clock
	for k in {1..10}; do
		start_dlock job sh -c 'mkdir inside || echo overlap >>fences; echo $DLOCK_FENCE >>fences; sleep 0.05; rmdir inside'
		pids[k]=$OUTER
	done
	wait "${pids[@]}"
	assert_between 0 15000 "$(clock_ms)"
	assert_equal "$(wc -l <fences)" 10
	strictly_increasing fences
}

@test "of two or four servers no more may fail than of one fewer: a line says so, and not with -q" {
	run dlock -S "$(url_of_node 1)" -S "$(url_of_node 2)" job true
	assert_success
	assert_output 'dlock: 2 servers: a majority are 2, so that no more of them may fail than of 1: use an odd number'
	run dlock -q -S "$(url_of_node 1)" -S "$(url_of_node 2)" job true
	assert_success
	assert_output ''
	kill_node 2
	run dlock -q -S "$(url_of_node 1)" -S "$(url_of_node 2)" job touch ran
	assert_failure 69
	assert_output --partial 'fewer than 2 of 2 nodes vote'
	[ ! -e ran ]
}

@test "two URLs of one server are refused (of a server and its replica: tests/long)" {
	run dlock -S "$(url_of_node 1)" -S "$(tcp_url_of_node 1)" job touch ran
	assert_failure 69
	assert_output --partial 'are one server: a quorum needs independent servers'
	[ ! -e ran ]
	assert_equal "$(node 1 KEYS '*')" ''
}

@test "that is found when the second one is slow to say who it is, too: while one waits; while one holds, it is said" {
	start_node_proxy 1
	tell_proxy 1 delay 100
	run dlock -S "$(url_of_node 1)" -S "$(url_of_node 2)" -S "$(url_of_proxy 1)" job sh -c 'sleep 0.5; touch ran'
	assert_success
	assert_line --regexp "are one server: a quorum needs independent servers; the latter has no vote\$"
	rm ran
	start_dlock job sleep 30
	wait_until 2s on_nodes 3 job
	run dlock -w 10s -S "$(url_of_node 1)" -S "$(url_of_node 2)" -S "$(url_of_proxy 1)" job touch ran
	assert_failure 69
	assert_output --partial 'are one server: a quorum needs independent servers'
	[ ! -e ran ]
}

# login_urls USER_OF_NODE...: in urls, -S for each node over TCP, with that before the @.
login_urls() {
	local k=0 login
	urls=()
	for login; do
		k=$((k + 1))
		urls+=(-S "redis://$login@127.0.0.1:$(<"$(dir_of_node $k)/port")")
	done
}

@test "passwords: each URL's own, or one for all, which is asked for once" {
	for k in 1 2 3; do
		node $k ACL SETUSER own on ">pass$k" '~*' '&*' +@all >/dev/null
		node $k ACL SETUSER same on '>common' '~*' '&*' +@all >/dev/null
	done
	login_urls own:pass1 own:pass2 own:pass3
	run dlock "${urls[@]}" job sh -c 'for i in 1 2 3 4 5 6 7 8 9; do redis-cli -s "$0" EXISTS lock:job; sleep 0.05; done' \
		"$(dir_of_node 3)/s" # which may be later than the other two
	assert_line 1
	login_urls own:pass1 own:wrong own:wrong
	run dlock "${urls[@]}" job touch ran
	assert_failure 77
	assert_output --partial 'fewer than 2 of 3 nodes vote'
	assert_output --partial WRONGPASS
	refute_output --partial pass1
	login_urls same same same
	run dlock "${urls[@]}" --password-command 'echo asked >>asked; echo common' job true
	assert_success
	assert_equal "$(wc -l <asked)" 1
	[ ! -e ran ]
}

@test "TLS where a URL says so" {
	make_files
	port=$((20000 + RANDOM % 12000))
	restart_node 2 --tls-cert-file "$PWD/server.pem" --tls-key-file "$PWD/server.key" \
		--tls-ca-cert-file "$PWD/ca.pem" --tls-auth-clients no --tls-port "$port"
	kill_node 3 # the second one's vote is needed
	urls=(-S "$(url_of_node 1)" -S "rediss://localhost:$port" -S "$(url_of_node 3)")
	run dlock --cacert ca.pem "${urls[@]}" job sh -c 'redis-cli -s "$0" EXISTS lock:job' "$(dir_of_node 2)/s"
	assert_output 1
	run dlock "${urls[@]}" job touch ran
	assert_failure 77
	assert_output --partial "rediss://localhost:$port: the server's certificate"
	forget_node 2
	[ ! -e ran ]
}

@test "--at-least, --max-hold, --held, --reentrant and --report work as with one server" {
	run dlock --at-least 60s 'done' true
	assert_success
	assert_between 2 3 "$(values_on_nodes 'done' | grep -c '^dlock!done:')" # the third may have been late
	run dlock -n 'done' true
	assert_failure 75
	assert_output --partial 'finished, held until'
	run dlock --max-hold 200ms job sleep 10
	assert_failure 124
	run dlock --report report job sh -c '"$0" --held && "$0" --reentrant job echo inner $DLOCK_FENCE' "$DLOCK"
	assert_success
	assert_output --regexp '^inner [0-9]{16}$'
	assert_regex "$(<report)" '"outcome":"ran".*"fence":"[0-9]{16}"'
}

@test "the whole dlock killed: the lock is free when its TTL is over, on every node" {
	start_dlock -t 1s job sleep 30
	wait_until 2s on_nodes 3 job
	kill -KILL "$(runner_of "$OUTER")" "$OUTER"
	run dlock -w 5s job true
	assert_success
}
