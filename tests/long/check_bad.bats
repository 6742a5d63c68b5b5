#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --check: each flaw of a server, and each right that a user lacks, is found and named; the verdict and
# the status follow from it.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # dollars for another shell; output, lines, stderr are set by run

load ../helpers/common
load ../helpers/checks
load ../helpers/proxy
load ../helpers/tls

setup() {
	common_setup
}

# finds STATUS CODE WORDS [OPTION]...: the verdict of that status has a reason CODE and says WORDS.
finds() {
	local status=$1 code=$2 words=$3
	shift 3
	run "-$status" --separate-stderr dlock "$@" --check
	[[ "${lines[-1]}" == 'verdict: '*"$words"* ]] || fail "not '$words' in: ${lines[-1]}"
	run "-$status" --separate-stderr dlock "$@" --check --json
	if [ "$status" = 0 ]; then
		checked "'$code' in codes and s['verdict'] == 'works but'"
	else
		checked "'$code' in codes and s['verdict'] == 'unfit'"
	fi
}

# A line on stderr says the same; what else is known is on stdout.
unreached() {
	local status=$1 words=$2
	shift 2
	run "-$status" --separate-stderr dlock "$@" --check
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ "$stderr" == 'dlock: cannot check '*"$words"* ]] || fail "not '$words' in: $stderr"
	[ "${#lines[@]}" -eq 3 ]
	[[ "${lines[1]}" == 'reached: no: '*"$words"* && "${lines[2]}" == 'verdict: unfit: '*"$words"* ]]
	run "-$status" --separate-stderr dlock "$@" --check --json
	checked 's["verdict"] == "unfit" and s["reached"] is False and s["run_id"] is None and s["round_trips"] == 0'
	run "-$status" --separate-stderr dlock "$@" -q --check
	[ "${#lines[@]}" -eq 1 ]
}

# --- not there, or not let in ---

@test "nobody listens, no such name, no such socket: unfit, status 69" {
	unreached 69 'Connection refused' -S redis://127.0.0.1:1
	unreached 69 "No such file" -S "unix://$WORK/none"
	unreached 69 "cannot look up 'no-such-host.invalid'" -S redis://no-such-host.invalid
}

@test "the login is refused: status 77; a database that is not there: 69" {
	start_redis
	redis ACL SETUSER pw on '>Secret1234' '~*' '&*' +@all >/dev/null
	unreached 77 WRONGPASS -S "redis://pw:wrong@127.0.0.1:$REDIS_PORT"
	redis ACL SETUSER default on '>Secret1234' >/dev/null
	unreached 77 NOAUTH
	redis --pass Secret1234 --no-auth-warning ACL SETUSER default on nopass >/dev/null
	unreached 69 'DB index is out of range' -S "redis://127.0.0.1:$REDIS_PORT/99"
}

@test "over TLS it is checked as in clear; a certificate that is not to be trusted: 77" {
	make_files
	make_ca other
	start_tls_redis --appendonly yes
	run -0 dlock --cacert ca.pem --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line --regexp '^reached: name looked up in '
	refute_line --partial 'path:'
	unreached 77 certificate --cacert other.pem
}

@test "a password file that is not there is a matter of configuration: 78, and no report" {
	start_redis
	run -78 --separate-stderr dlock --password-file "$WORK/none" --check
	[ -z "$output" ]
}

@test "max number of clients reached: 69; nearly reached: works but" {
	local i
	start_redis --appendonly yes
	redis CONFIG SET maxclients 40 >/dev/null
	for i in {1..36}; do
		eval "exec {fd$i}<>/dev/tcp/127.0.0.1/$REDIS_PORT"
	done
	wait_until 5s clients_are 36
	finds 0 maxclients ' of 40 possible clients are connected'
	for i in {37..40}; do
		eval "exec {fd$i}<>/dev/tcp/127.0.0.1/$REDIS_PORT"
	done
	unreached 69 'max number of clients'
}

clients_are() {
	[ "$(redis INFO clients 2>/dev/null | tr -d '\r' | sed -n 's/^connected_clients://p')" -ge "$1" ]
}

@test "a server that stands still, from the start or from the middle on: bounded, 69" {
	start_redis
	kill -STOP "$REDIS_PID"
	start_clock
	unreached 69 'no answer to the login in time' --connect-timeout 500ms
	assert_between 0 6000 "$(clock_ms)" "milliseconds, of three runs"
	kill -CONT "$REDIS_PID"
	start_proxy
	proxy on EVAL stop "$REDIS_PID"
	start_clock
	run -69 --separate-stderr dlock --check
	assert_between 1500 6000 "$(clock_ms)" "milliseconds"
	[[ "${lines[-1]}" == 'verdict: unfit: no answer in time'* ]]
	[[ "$stderr" == 'dlock: cannot check '*': no answer in time' ]]
	assert_line --regexp '^version: (redis|valkey) '
	kill -CONT "$REDIS_PID"
}

@test "a connection that is cut in the middle: 69, and what was found until then" {
	start_redis
	start_proxy
	proxy every RELEASE here cut
	run -69 --separate-stderr dlock --check --json
	checked 's["verdict"] == "unfit" and codes[0] == "lost" and s["reached"] is True and s["run_id"] is not None'
	proxy pass
	proxy on EVAL here cut
	run -69 --separate-stderr dlock --check
	[ -n "$stderr" ]
}

# --- what it is ---

@test "a replica, and one that has lost its master: unfit" {
	start_redis
	redis-server --port 0 --unixsocket "$WORK/s" --save "" --dir "$WORK" --replicaof 127.0.0.1 "$REDIS_PORT" >/dev/null 3>&- &
	track $!
	wait_until 10s link_is up
	finds 69 replica 'it is a replica: locks are kept by its master' -S "unix://$WORK/s"
	finds 69 locks READONLY -S "unix://$WORK/s"
	redis-cli -s "$WORK/s" REPLICAOF 127.0.0.1 1 >/dev/null
	wait_until 10s link_is down
	finds 69 replica 'a replica that has lost its master' -S "unix://$WORK/s"
}

link_is() {
	redis-cli -s "$WORK/s" INFO replication 2>/dev/null | grep -q "master_link_status:$1"
}

@test "replicas: too few of them, and none that it needs" {
	start_redis --appendonly yes
	redis CONFIG SET min-replicas-to-write 1 >/dev/null
	if ! server_has 7.0; then
		finds 0 failover 'min-replicas-to-write does not hold scripts back before Redis 7.0'
		run -0 dlock job true
		return
	fi
	finds 69 min-replicas 'min-replicas-to-write is 1, and 0 replicas are there'
	finds 69 locks NOREPLICAS
	redis-server --port 0 --unixsocket "$WORK/s" --save "" --dir "$WORK" --replicaof 127.0.0.1 "$REDIS_PORT" >/dev/null 3>&- &
	track $!
	wait_until 10s link_is up
	wait_until 10s good_replicas 1
	run -0 dlock --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line 'replicas: 1, min-replicas-to-write 1'
	redis CONFIG SET min-replicas-to-write 0 >/dev/null
	finds 0 failover 'it has replicas, and min-replicas-to-write is 0'
}

good_replicas() {
	redis INFO replication | tr -d '\r' | grep -q "min_slaves_good_slaves:$1"
}

@test "a node of a cluster, and a Sentinel: unfit" {
	start_redis --cluster-enabled yes
	finds 69 cluster 'a node of a Redis Cluster'
	finds 69 locks CLUSTERDOWN
	echo 'port 0' >sentinel.conf
	redis-server "$WORK/sentinel.conf" --sentinel --unixsocket "$WORK/s" >/dev/null 3>&- &
	track $!
	wait_until 5s test -S "$WORK/s"
	unreached 69 'it is a Sentinel, which keeps no locks' -S "unix://$WORK/s"
}

@test "a server that loads its data: unfit, by its own word" {
	start_redis
	populate_for_slow_load redis
	redis SAVE >/dev/null
	kill -KILL "$REDIS_PID"
	wait_until 5s redis_ended
	REDIS_OPTIONS+=(--save '3600 1' "${LOAD_SLOWLY[@]}")
	launch_redis "$REDIS_PORT"
	wait_until 5s is_loading
	run -69 dlock --check
	assert_line 'role: master, mode: standalone, loading its data'
	[[ "${lines[-1]}" == 'verdict: unfit: '*'it is still loading its data'* ]]
	run -69 --separate-stderr dlock --check --json
	checked "'loading' in codes and s['verdict'] == 'unfit'"
	kill -KILL "$REDIS_PID"
}

is_loading() {
	redis PING 2>&1 | grep -q LOADING
}

@test "a server that is busy with a script: 69, with what it says" {
	start_redis --lua-time-limit 50
	redis EVAL 'while true do end' 0 >/dev/null 2>&1 3>&- &
	track $!
	wait_until 5s is_busy
	run -69 dlock --check
	[[ "${lines[-1]}" == 'verdict: unfit: '*BUSY* ]]
	redis SCRIPT KILL >/dev/null
}

is_busy() {
	redis PING 2>&1 | grep -q BUSY
}

# --- what it may forget ---

@test "nothing on disk, snapshots alone, appendfsync no: works but" {
	start_redis
	finds 0 no-persistence 'nothing is written to disk: a restart forgets all locks'
	redis CONFIG SET save '3600 1' >/dev/null
	finds 0 snapshots-only 'only snapshots are written to disk'
	redis CONFIG SET appendonly yes >/dev/null
	redis CONFIG SET appendfsync no >/dev/null
	finds 0 appendfsync-no 'appendfsync no: '
	redis CONFIG SET appendfsync always >/dev/null
	run -0 dlock --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line 'persistence: append-only file, appendfsync always, snapshots (save 3600 1)'
}

@test "an eviction policy that may drop locks, where memory has a limit: works but (R54)" {
	local policy
	start_redis --appendonly yes --maxmemory 200mb
	for policy in allkeys-lru allkeys-random volatile-lru volatile-ttl; do
		redis CONFIG SET maxmemory-policy "$policy" >/dev/null
		finds 0 eviction "maxmemory-policy $policy may drop locks"
	done
	redis CONFIG SET maxmemory 0 >/dev/null
	run -0 dlock --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line --regexp '^memory: .*, no limit, volatile-ttl$'
}

@test "memory that is nearly full: works but; full: unfit" {
	local used
	start_redis --appendonly yes
	redis SETRANGE filler 30000000 x >/dev/null
	dlock -q --check >/dev/null
	used=$(redis INFO memory | tr -d '\r' | sed -n 's/^used_memory://p')
	redis CONFIG SET maxmemory $((used * 107 / 100)) >/dev/null
	finds 0 memory '% of maxmemory are used'
	redis CONFIG SET maxmemory 1mb >/dev/null
	finds 69 locks OOM
	finds 69 memory 'all of maxmemory is used'
}

@test "a clock that is wrong, by how much and in which direction" {
	export SERVER_CLOCK=$WORK/clock
	echo 'shift 3600000' >clock
	LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis --appendonly yes
	finds 0 clock "its clock is 1h00m ahead of this host's"
	checked '3599000000 < s["clock_us"] < 3601000000'
	printf '%-30s\n' 'shift -7200000' 1<>clock
	finds 0 clock "its clock is 2h00m behind this host's"
	checked '-7201000000 < s["clock_us"] < -7199000000'
	printf '%-30s\n' 'shift 400' 1<>clock
	run -0 dlock --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line --regexp '^clock: \+(399|400|401)\.[0-9]+ ms to this host'
}

@test "an idle timeout shorter than the time between two renewals: works but" {
	start_redis --appendonly yes --timeout 8
	finds 0 idle-timeout 'timeout 8 cuts connections that are idle for as long as a holder'
	run -0 dlock -t 20s --check
	[ "${lines[-1]}" = 'verdict: good' ]
	assert_line --regexp '^clients: .*, cut when idle for 8s$'
}

@test "round trips that are too long for the lease: unfit" {
	start_redis
	start_proxy
	proxy delay 110
	run -69 --separate-stderr dlock -t 1s --connect-timeout 5s --check --json
	checked 'codes[0] == "too-slow" and s["round_trip_min_us"] >= 110000 and s["round_trips"] == 20'
	[[ "$output" == *'and a renewal of a TTL of 1.0s is given up after 0.100s'* ]]
	proxy pass
	run -0 --separate-stderr dlock -t 1s --connect-timeout 5s --check --json
	checked '"too-slow" not in codes'
}

# --- rights ---

# A user on the private server who may do everything with locks but for these rules.
user_without() {
	redis ACL SETUSER u reset on nopass '~lock:*' '&*' +@all -@dangerous +info '+config|get' "$@" >/dev/null
}

# lacks 'FEATURE...' COMMAND [STATUS]: without the command these features, and no others, are lost, and it
# is named with each.
lacks() {
	local features=$1 command=$2 status=${3:-0} name=${2//|/ }
	user_without "-$command"
	run "-$status" --separate-stderr dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check --json
	name=${name^^}
	# It is the server that names this one, without the subcommand if it is so old.
	[[ $name != CLIENT* ]] || server_has 7.0 || name=CLIENT
	checked "sorted(n for n in f if f[n]['works'] is False) == sorted('$features'.split())" || fail "$command"
	checked "all('$name' in f[n]['missing'] for n in f if f[n]['works'] is False)" || fail "$command"
	run "-$status" dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check
	[[ "${lines[-1]}" == *"this user may not use $name"* ]] || fail "$command: ${lines[-1]}"
	no_keys || fail "$command: $(redis KEYS '*')"
}

@test "a right that is missing is named, with what is lost by it; nothing is left" {
	start_redis --appendonly yes
	user_without
	run -0 dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check
	[ "${lines[-1]}" = 'verdict: good' ]
	lacks 'messages' publish
	lacks 'messages' 'pubsub|numsub'
	lacks 'messages watch' subscribe
	lacks 'messages watch' multi
	lacks 'foreign watch' 'client|tracking'
	lacks 'foreign watch' 'client|id'
	lacks 'counter' persist
	user_without '-client|caching'
	finds 0 foreign "$(server_has 7.0 && echo CACHING || echo 'CLIENT CACHING')" -S "redis://u@127.0.0.1:$REDIS_PORT"
	lacks 'waiting shared slots' zadd
	lacks 'shared slots' zremrangebyscore
	lacks 'list' scan
	lacks 'status list' zcount
	lacks 'status list break' getrange
}

@test "a right without which no lock can be held: unfit, and nothing is tried" {
	local command
	start_redis --appendonly yes
	for command in del pexpire set; do
		lacks 'locks waiting shared slots break' "$command" 69
	done
	lacks 'locks waiting shared slots' incr 69
	lacks 'locks status list' eval 69
}

@test "keys and channels that a user may not use" {
	start_redis --appendonly yes
	redis ACL SETUSER u reset on nopass '~other:*' '&*' +@all >/dev/null
	finds 69 locks 'no lock can be held: the server says: NOPERM' -S "redis://u@127.0.0.1:$REDIS_PORT"
	run -0 dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --prefix other: --check
	[ "${lines[-1]}" = 'verdict: good' ]
	if server_has 6.2; then
		redis ACL SETUSER u reset on nopass '~lock:*' resetchannels +@all >/dev/null
		finds 0 messages 'waiters are not told, and poll: the server says: NOPERM' -S "redis://u@127.0.0.1:$REDIS_PORT"
	fi
	redis ACL SETUSER u reset on nopass '~lock:*' '&lock:*' +@all >/dev/null
	run -0 dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check
	[ "${lines[-1]}" = 'verdict: good' ]
	no_keys
}

@test "who is not told is said: INFO and CONFIG refused, CONFIG renamed" {
	start_redis --appendonly yes
	redis ACL SETUSER u reset on nopass '~lock:*' '&*' +@all -@dangerous >/dev/null
	run -0 dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check
	[ "${lines[-1]}" = 'verdict: good, as far as it is seen (INFO and CONFIG GET not told)' ]
	assert_line 'role: master, mode: standalone' # HELLO says so to everybody
	assert_line 'run id: not told'
	assert_line 'persistence: not told'
	run -0 --separate-stderr dlock -S "redis://u@127.0.0.1:$REDIS_PORT" --check --json
	checked 's["verdict"] == "good" and s["run_id"] is None and s["appendonly"] is None and s["save"] is None'
	checked 's["role"] == "master" and s["replicas"] is None and s["product"] == "'"$(server_version | cut -d ' ' -f 1)"'"'
	stop_redis
	start_redis --appendonly yes --rename-command CONFIG ''
	run -0 dlock --check
	[ "${lines[-1]}" = 'verdict: good, as far as it is seen (CONFIG GET not told)' ]
}

@test "the user of the man page: good, as far as it is seen; with the rights to be told: good" {
	local rule more
	start_redis --appendonly yes
	read -ra rule <<<"$(sed -n '/^ACL SETUSER dlock on /,/^\.Ed/p' "$ROOT_DIR/man/dlock.1" |
		sed -e 's/^ACL SETUSER dlock //' -e '/^\.Ed/d' | tr -s '\n ' ' ')"
	read -ra more < <(sed -n 's/^\.Dl \(+info .*\)/\1/p' "$ROOT_DIR/man/dlock.1")
	[ "${#rule[@]}" -gt 20 ]
	[ "${#more[@]}" -eq 4 ]
	redis ACL SETUSER dlock reset "${rule[@]}" >/dev/null
	run -0 dlock -S "redis://dlock:secret@127.0.0.1:$REDIS_PORT" --check
	[ "${lines[-1]}" = 'verdict: good, as far as it is seen (INFO and CONFIG GET not told)' ]
	redis ACL SETUSER dlock "${more[@]}" >/dev/null
	run -0 dlock -S "redis://dlock:secret@127.0.0.1:$REDIS_PORT" --check
	[ "${lines[-1]}" = 'verdict: good' ]
	no_keys
}

@test "commands that a server, or a proxy before it, does not know" {
	start_redis --appendonly yes --rename-command SUBSCRIBE ''
	finds 0 messages 'waiters are not told, and poll: the server says: ERR unknown command'
	stop_redis
	start_redis --appendonly yes --rename-command HSET ''
	finds 69 locks 'no lock can be held: this user may not use HSET'
	stop_redis
	start_redis --rename-command EVAL ''
	finds 69 locks 'no lock can be held: the server says: ERR unknown command'
}
