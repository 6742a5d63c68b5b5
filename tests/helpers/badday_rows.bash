#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The rows of tests/diagnostics.list for helpers/badday.bash: what befalls a server and its dlocks.
#
#   prepare_NAME   START: what starts redis-server; SERVER: its options; OPTIONS: of dlock; ROW_URL, PORT in
#                  it is the port;
#                  SHORT, WAIT: the short lease and the short wait; TURN: yes, or a command that makes those
#                  who wait meet it
#   arrange_NAME   the same when the server runs
#   provoke_NAME
#   cure_NAME      where there is one after which the locks are as they were
#
# Where the server has to be started again the short lease is long enough for its first answers.
#
# shellcheck disable=SC2034,SC2153,SC2317 # the variables are those of badday.bash, which calls all this

# Whoever is connected must come again.
cut_all() {
	[ "$(admin CLIENT KILL USER default)" -gt 0 ]
}

restart_with() {
	kill -KILL "$REDIS_PID"
	wait "$REDIS_PID" 2>/dev/null
	rm -f "$REDIS_SOCK"
	REDIS_OPTIONS=(--user admin on nopass '~*' '&*' +@all "${SERVER[@]}" "$@")
	launch_redis "$REDIS_PORT"
	poll_for 8000 admin_answers
}

admin_answers() {
	admin PING 2>&1 | grep -q 'PONG\|LOADING'
}

provoke_noauth() { admin CONFIG SET requirepass changed && cut_all; }
cure_noauth() { admin CONFIG SET requirepass ''; }

prepare_wrongpass() { ROW_URL=redis://:right@127.0.0.1:PORT; }
arrange_wrongpass() { admin CONFIG SET requirepass right >/dev/null; }
provoke_wrongpass() { admin CONFIG SET requirepass changed && cut_all; }
cure_wrongpass() { admin CONFIG SET requirepass right; }

# Neither way to run a script: the long ones go by their hash as well.
provoke_noperm() { admin ACL SETUSER default -eval -evalsha; }
cure_noperm() { admin ACL SETUSER default +@all; }

provoke_noperm_inside() { admin ACL SETUSER default -get; }
cure_noperm_inside() { admin ACL SETUSER default +@all; }

prepare_loading() { SHORT=12s WAIT=16; }
arrange_loading() { populate_for_slow_load admin; }
provoke_loading() {
	admin SAVE && restart_with "${LOAD_SLOWLY[@]}" &&
		poll_for 5000 says_to_ping LOADING
}
cure_loading() { admin CONFIG SET key-load-delay 0 && poll_for 20000 says_to_ping PONG; }

says_to_ping() {
	admin PING 2>&1 | grep -q "$1"
}

prepare_busy() { SERVER=(--lua-time-limit 50); }
provoke_busy() {
	printf '%s\n' 'CLIENT KILL USER default' 'EVAL "while true do end" 0' |
		redis-cli -s "$REDIS_SOCK" --user admin --pass any --no-auth-warning >/dev/null 2>&1 &
	track "$!"
	poll_for 5000 says_to_ping BUSY
}
cure_busy() { admin SCRIPT KILL; }

provoke_readonly() { admin REPLICAOF 127.0.0.1 1; }
cure_readonly() { admin REPLICAOF NO ONE; }

prepare_misconf() { mkdir data && SERVER=(--dir "$PWD/data"); }
provoke_misconf() {
	rmdir data && admin CONFIG SET save '3600 100000' && admin BGSAVE && poll_for 5000 save_failed
}
save_failed() { admin INFO persistence | grep -q rdb_last_bgsave_status:err; }
cure_misconf() { admin CONFIG SET stop-writes-on-bgsave-error no; }

provoke_masterdown() { admin CONFIG SET replica-serve-stale-data no && admin REPLICAOF 127.0.0.1 1; }
cure_masterdown() { admin REPLICAOF NO ONE; }

provoke_noreplicas() { admin CONFIG SET min-replicas-to-write 1; }
cure_noreplicas() { admin CONFIG SET min-replicas-to-write 0; }

# One client has the last place, and orders are given through it.
provoke_maxclients() {
	mkfifo orders
	redis-cli -s "$REDIS_SOCK" --user admin --pass any --no-auth-warning <orders >answers 2>&1 &
	HOG=$!
	track "$HOG"
	exec {ORDERS}>orders
	printf 'CONFIG SET maxclients 1\nCLIENT KILL USER default\nPING\n' >&"$ORDERS"
	poll_for 5000 grep -q PONG answers
}
cure_maxclients() { echo 'CONFIG SET maxclients 1000' >&"$ORDERS" && poll_for 5000 says_to_ping PONG; }

# In the handshake there is nobody yet to whom something could be said.
prepare_tls_closed() { make_files && START=start_tls_redis OPTIONS=(--cacert "$PWD/ca.pem"); }
arrange_tls_closed() { ROW_URL=$DLOCK_SERVER; }
provoke_tls_closed() { provoke_maxclients; }
cure_tls_closed() { cure_maxclients; }

provoke_oom() { admin CONFIG SET maxmemory 1; }
cure_oom() { admin CONFIG SET maxmemory 0; }

prepare_protected() {
	local address
	address=$(hostname -I | tr ' ' '\n' | grep -m 1 '\.') || { echo "this machine has no address but localhost"; return; }
	SERVER=(--bind 0.0.0.0 --protected-mode no) ROW_URL=redis://$address:PORT
}
provoke_protected() { admin CONFIG SET protected-mode yes && cut_all; }
cure_protected() { admin CONFIG SET protected-mode no; }

make_hashes() {
	local key
	for key in "$@"; do
		admin EVAL "redis.call('DEL', KEYS[1]) return redis.call('$MAKE', KEYS[1], 'x', '1')" 1 "$key" || return
	done
}
siblings() {
	printf "%s#$1{%s}\n" lock:{a,a,b,b,c,c,d,d,w,w}
}
turn_siblings() {
	local keys
	mapfile -t keys < <(siblings "$1")
	MAKE=${2:-HSET} make_hashes "${keys[@]}"
}
provoke_wrongtype() { MAKE=HSET make_hashes "${LOCKS[@]}"; }
cure_wrongtype() { admin DEL "${LOCKS[@]}"; }

delete_siblings() {
	local keys
	mapfile -t keys < <(siblings "$1")
	admin DEL "${keys[@]}"
}

# Of a fence one knows only when it is one's turn.
prepare_wrongtype_fence() { TURN=yes; }
provoke_wrongtype_fence() { turn_siblings fence; }
cure_wrongtype_fence() { delete_siblings fence; }

provoke_wrongtype_info() { turn_siblings info SADD; }
cure_wrongtype_info() { delete_siblings info; }

provoke_wrongtype_queue() { turn_siblings queue; }
cure_wrongtype_queue() { delete_siblings queue; }

# Members without a marker above them count for nothing.
prepare_wrongtype_members() { OPTIONS=(-s) TURN=mark_shared; }
provoke_wrongtype_members() { turn_siblings members; }
mark_shared() { admin MSET lock:d 'dlock!shared' lock:w 'dlock!shared'; }

prepare_garbage_fence() { TURN=yes; }
provoke_garbage_fence() {
	local key
	while read -r key; do
		admin SET "$key" nonsense || return
	done < <(siblings fence)
}
cure_garbage_fence() { delete_siblings fence; }

prepare_wrong_db() { SHORT=12s WAIT=16 ROW_URL=redis://127.0.0.1:PORT/3 ADMIN_DB=3; }
provoke_wrong_db() { ADMIN_DB=0 && restart_with --databases 1; }

# A proxy that does not pass a command on answers as a server that does not know it.
prepare_no_eval() { SHORT=12s WAIT=16; }
provoke_no_eval() { admin SAVE && restart_with --rename-command EVAL ''; }
cure_no_eval() { restart_with; }

prepare_no_subscribe() { SERVER=(--rename-command SUBSCRIBE ''); }
provoke_no_subscribe() { :; }
cure_no_subscribe() { :; }

prepare_no_client() { SERVER=(--rename-command CLIENT ''); }
provoke_no_client() { :; }
cure_no_client() { :; }

provoke_idle_cut() { admin CONFIG SET timeout 1; }
cure_idle_cut() { admin CONFIG SET timeout 0; }

arrange_reset() { through_proxy; }
provoke_reset() { proxy reset; }
cure_reset() { proxy reset; }

provoke_down() { admin SAVE && kill -KILL "$REDIS_PID" && poll_for 5000 gone "$REDIS_PID"; }
cure_down() { restart_with; }

arrange_half_open() { through_proxy; }
provoke_half_open() { proxy blackhole; }
cure_half_open() { proxy pass; }

through_proxy() {
	WORK=$PWD start_proxy
	ROW_URL=$DLOCK_SERVER
}

# Nobody of them may open one more; what is open stays so. poll(2) refuses more descriptors than the
# limit, and does so when it is called: so the connections end in the same moment.
prepare_emfile() { LIMIT=(prlimit "--nofile=$FEW:"); }
FEW=5
provoke_emfile() {
	local pids
	mapfile -t pids < <(all_processes)
	/usr/bin/python3 -c '
import resource, socket, sys
admin = socket.socket(socket.AF_UNIX)
admin.connect(sys.argv[1])
admin.sendall(b"AUTH admin any\r\n")
admin.recv(100)
for pid in map(int, sys.argv[3:]):
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (int(sys.argv[2]), hard))
admin.sendall(b"CLIENT KILL USER default\r\n")
sys.exit(0 if admin.recv(100)[1:2] > b"0" else 1)' "$REDIS_SOCK" "$FEW" "${pids[@]}"
}
cure_emfile() {
	local pid
	for pid in $(all_processes); do
		prlimit --pid "$pid" --nofile=1000: || return
	done
}
all_processes() {
	local pid
	for pid in "${PID[@]}"; do
		echo "$pid"
		pgrep -x dlock-run -P "$pid"
	done
	return 0
}
