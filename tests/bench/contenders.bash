#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: what is compared.
#
# shellcheck disable=SC2034,SC2154 # variables are run's, and for its other parts

all_contenders=(flock dlock-unix dlock-tcp dlock-tls dlock-sentinel dlock-cluster redis-cli redis-py etcdctl consul cronlock)
chosen=() # those that are here and work

# contender ID: sets name, kind, every (in which rounds of start it runs), command (to put COMMAND
# after), and in_line: a line for `sh -c` that succeeds when, beside its holder, a waiter has come so
# far that it does nothing more; '' where that cannot be seen. False: it is not on this machine; why
# says what is missing.
contender() {
	why='' every=1 kind=network in_line=''
	case $1 in
	flock)
		name='flock(1)' kind=local
		command=("$(type -P flock)" "$dir/flock")
		true >>"$dir/flock"
		in_line="grep -q -- '-> FLOCK .*:$(stat -c %i "$dir/flock") ' /proc/locks"
		;;
	dlock-unix)
		name='dlock, Unix socket' kind=dlock
		command=("$dlock" -S "unix://$dir/redis.sock" bench)
		in_line=$(dlock_in_line)
		;;
	dlock-tcp)
		name='dlock, TCP' kind=dlock
		command=("$dlock" -S "redis://127.0.0.1:$redis_port" bench)
		in_line=$(dlock_in_line)
		;;
	dlock-tls)
		name='dlock, TLS' kind=dlock every=4
		why=$(absent openssl)
		[ -n "$why" ] || start_once redis_tls || why='no Redis with TLS'
		command=("$dlock" -S "rediss://127.0.0.1:${tls_port:-}?cacert=$dir/tls.pem" bench)
		in_line=$(dlock_in_line redis_tls)
		;;
	dlock-sentinel)
		name='dlock, Sentinel' kind=dlock every=4
		start_once sentinel || why='no Redis with a sentinel'
		command=("$dlock" -S "redis+sentinel://127.0.0.1:${sentinel_port:-}/bench" bench)
		in_line=$(dlock_in_line sentinel)
		;;
	dlock-cluster)
		name='dlock, Cluster' kind=dlock every=4
		start_once cluster || why='no Redis Cluster'
		command=("$dlock" -S "redis+cluster://127.0.0.1:${cluster_port:-}" bench)
		in_line=$(dlock_in_line cluster)
		;;
	redis-cli)
		name='bash and redis-cli' every=2
		command=("$here/redis-cli-lock" "$redis_port" bench)
		;;
	redis-py)
		name="redis-py's Lock" every=10
		command=("$here/redis-py-lock" "$redis_port" bench)
		# Its last command was SET, as the holder's was.
		in_line="[ \"\$(redis-cli -s $dir/redis.sock CLIENT LIST | grep -c ' cmd=set ')\" = 2 ]"
		/usr/bin/python3 -c 'import redis' 2>/dev/null || why='no module redis in /usr/bin/python3'
		;;
	etcdctl)
		name='etcdctl lock' every=4
		why=$(absent etcd etcdctl)
		[ -n "$why" ] || start_once etcd || why='etcd did not start'
		command=("$(type -P etcdctl)" --endpoints="${etcd_url:-}" lock bench)
		in_line="[ \"\$(etcdctl --endpoints=${etcd_url:-} get --prefix --keys-only bench/ |
			grep -c .)\" = 2 ]"
		;;
	consul)
		name='consul lock' every=10
		why=$(absent consul)
		[ -n "$why" ] || start_once consul || why='consul did not start'
		command=("$(type -P consul)" lock -http-addr="${consul_url:-}" -shell=false bench)
		;;
	cronlock)
		name=cronlock every=10
		why=$(absent cronlock)
		command=("$(type -P env)" CRONLOCK_HOST=127.0.0.1 "CRONLOCK_PORT=$redis_port"
			CRONLOCK_GRACE=0 CRONLOCK_KEY=bench cronlock)
		;;
	*) fail "no contender '$1'; there are: ${all_contenders[*]}" ;;
	esac
	[ -z "$why" ]
}

# dlock_in_line [SERVER]
dlock_in_line() {
	echo "[ \"\$(redis-cli -s $dir/${1:-redis}.sock ZCARD 'lock:bench#queue{lock:bench}')\" = 1 ]"
}

absent() {
	local program
	for program; do
		command -v "$program" >/dev/null || { echo "no $program in PATH"; return; }
	done
}

start_once() {
	[[ " ${started:-} " = *" $1 "* ]] || start_server "$1" || return
	started="${started:-} $1"
}

# Leaves out, named, what is not here or does not work here.
choose() {
	local id output
	for id; do
		if ! contender "$id"; then
			:
		elif ! output=$(timeout 10 "${command[@]}" true 2>&1 </dev/null); then
			why="its first run failed: ${output##*$'\n'}"
		else
			chosen+=("$id")
			continue
		fi
		record missing "$name" "$why"
		case $id in
		consul | cronlock) ;;
		*) failed=1 ;;
		esac
	done
}
