#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: the servers that it starts, and that nothing is left of it.
#
# shellcheck disable=SC2154 # variables are run's

pids=() # of what was started here, newest last

is_running() {
	[ -d "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# end PID: TERM, and KILL after three seconds.
end() {
	local tenths=30
	kill -TERM "$1" 2>/dev/null
	while is_running "$1"; do
		tenths=$((tenths - 1))
		[ "$tenths" -gt 0 ] || kill -KILL "$1" 2>/dev/null
		sleep 0.1
	done
	wait "$1" 2>/dev/null
}

cleanup() {
	trap '' INT TERM HUP
	local i
	end_crowd
	for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
		end "${pids[i]}"
	done
	rm -rf "$dir"
}
# serve LOG COMMAND...: in a session of its own, so that Ctrl-C leaves its end to cleanup, and with
# an end of its own should this script be killed.
serve() {
	local log=$1
	shift
	setsid setpriv --pdeathsig TERM -- "$@" </dev/null >"$dir/$log.log" 2>&1 &
	pids+=($!)
}

# finish LOG COMMAND...: the same to its end, in the background, so that a signal to this script is
# heard at once; its stdout is in $dir/LOG.
finish() {
	local log=$1
	shift
	setsid setpriv --pdeathsig TERM -- "$@" </dev/null >"$dir/$log" &
	pids+=($!)
	wait "${pids[-1]}" || return
	unset 'pids[-1]'
}

wait_for() {
	local tenths=$1
	shift
	until "$@" >/dev/null 2>&1; do
		tenths=$((tenths - 1))
		[ "$tenths" -gt 0 ] || return 1
		is_running "${pids[-1]}" || return 1
		sleep 0.1
	done
}

# Below the range from which the kernel takes ports for outgoing connections.
random_port() {
	echo $((20000 + (RANDOM * 32768 + RANDOM) % 12000))
}

# start_server NAME: calls launch_NAME, with other ports when these are taken, until ready_NAME.
start_server() {
	local try
	for try in 1 2 3 4 5; do
		"launch_$1"
		wait_for 100 "ready_$1" && return
		end "${pids[-1]}"
		unset 'pids[-1]'
		grep -qi 'address already in use' "$dir/$1.log" || break
	done
	tail -n 5 "$dir/$1.log" >&2
	echo "bench: $1 did not start (try $try)" >&2
	return 1
}

launch_redis() {
	redis_port=$(random_port)
	serve redis redis-server --port "$redis_port" --bind 127.0.0.1 --unixsocket "$dir/redis.sock" \
		--dir "$dir" --save '' --daemonize no
}

ready_redis() {
	[ "$(redis-cli -p "$redis_port" PING)" = PONG ] && [ -S "$dir/redis.sock" ]
}

# One certificate, which is its own CA.
launch_redis_tls() {
	tls_port=$(random_port)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$dir/tls.key" \
		-out "$dir/tls.pem" -subj /CN=bench -addext subjectAltName=IP:127.0.0.1 -days 2 2>/dev/null
	serve redis_tls redis-server --port 0 --tls-port "$tls_port" --tls-cert-file "$dir/tls.pem" \
		--tls-key-file "$dir/tls.key" --tls-ca-cert-file "$dir/tls.pem" --tls-auth-clients no \
		--bind 127.0.0.1 --unixsocket "$dir/redis_tls.sock" --dir "$dir" --save '' --daemonize no
}

ready_redis_tls() {
	[ "$(redis-cli -s "$dir/redis_tls.sock" PING)" = PONG ]
}

# A master with one replica, and a sentinel.
launch_sentinel() {
	local port replica
	port=$(random_port)
	replica=$(random_port)
	sentinel_port=$(random_port)
	serve sentinel_master redis-server --port "$port" --bind 127.0.0.1 --unixsocket "$dir/sentinel.sock" \
		--dir "$dir" --dbfilename master.rdb --save '' --repl-diskless-sync-delay 0 --daemonize no
	serve sentinel_replica redis-server --port "$replica" --bind 127.0.0.1 --dir "$dir" \
		--dbfilename replica.rdb --save '' --replicaof 127.0.0.1 "$port" --daemonize no
	printf '%s\n' "port $sentinel_port" 'bind 127.0.0.1' "dir $dir" \
		"sentinel monitor bench 127.0.0.1 $port 1" >"$dir/sentinel.conf"
	wait_for 100 has_replica
	serve sentinel redis-server "$dir/sentinel.conf" --sentinel
}

has_replica() {
	redis-cli -s "$dir/sentinel.sock" INFO replication | grep -q '^slave0:.*state=online'
}

ready_sentinel() {
	[[ $(redis-cli -p "$sentinel_port" SENTINEL MASTER bench | paste -sd' ') == *' num-slaves 1 '* ]]
}

# One master that has every slot. Its bus takes the port 10,000 above.
launch_cluster() {
	cluster_port=$(random_port)
	mkdir -p "$dir/cluster"
	serve cluster redis-server --port "$cluster_port" --bind 127.0.0.1 --unixsocket "$dir/cluster.sock" \
		--dir "$dir/cluster" --save '' --daemonize no --cluster-enabled yes
	wait_for 100 redis-cli -s "$dir/cluster.sock" PING &&
		redis-cli -s "$dir/cluster.sock" CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
}

ready_cluster() {
	redis-cli -s "$dir/cluster.sock" CLUSTER INFO | grep -q '^cluster_state:ok'
}

launch_etcd() {
	local peer
	etcd_url=http://127.0.0.1:$(random_port)
	peer=http://127.0.0.1:$(random_port)
	rm -rf "$dir/etcd"
	serve etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$etcd_url" \
		--advertise-client-urls "$etcd_url" --listen-peer-urls "$peer" \
		--initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
}

ready_etcd() {
	etcdctl --endpoints="$etcd_url" endpoint health
}

launch_consul() {
	consul_url=http://127.0.0.1:$(random_port)
	serve consul consul agent -dev -bind 127.0.0.1 -client 127.0.0.1 -dns-port -1 -grpc-port -1 \
		-http-port "${consul_url##*:}" -server-port "$(random_port)" \
		-serf-lan-port "$(random_port)" -serf-wan-port "$(random_port)"
}

ready_consul() {
	consul kv put -http-addr="$consul_url" bench-ready yes
}
