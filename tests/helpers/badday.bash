#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A bad day: a server with dlocks that hold, wait and are about to release, something that befalls it, and
# what each of them does then. The rows are those of tests/diagnostics.list.
#
#   bad_days NAME...      those rows, all at the same time, each with a server of its own
#   every_row             the names of all
#
# A row is provoke_NAME, cure_NAME (where there is a cure after which the locks are as they were), and,
# where the server or the dlocks need something for it from the start, prepare_NAME.
#
# shellcheck disable=SC2034,SC2317 # variables are for the caller; the rows' functions are called by name

DIAGNOSTICS=$TESTS_DIR/diagnostics.list
LOCKS=(lock:a lock:b lock:c lock:d lock:w)

every_row() {
	sed -n 's/^\([a-z_]*\) |.*/\1/p' "$DIAGNOSTICS"
}

bad_days() {
	local name count=0 pids=()
	[ $# -gt 0 ]
	for name in "$@"; do
		mkdir "$WORK/$name"
		(bad_day "$name" >"$WORK/$name/wrong" 2>"$WORK/$name/trace") 3>&- 4>&- &
		pids+=("$!")
		track "$!"
	done
	wait "${pids[@]}" || true
	for name in "$@"; do
		[ -e "$name/finished" ] || { echo "$name did not come to its end:"; tail -n 20 "$name/trace" | cut -c 1-200; } >>"$name/wrong"
		[ ! -s "$name/wrong" ] || { echo "--- $name"; cat "$name/wrong"; tail -n 40 "$name"/*.log || true; count=$((count + 1)); } >&2
	done
	[ "$count" = 0 ]
}

# --- one row ---

bad_day() {
	local row
	row=$(grep "^$1 |" "$DIAGNOSTICS") || { echo "no such row"; return; }
	IFS='|' read -r NAME SAYS ON_ACQUIRE ON_WAITING ON_HOLDING ON_RELEASE <<<"${row// | /|}"
	cd "$WORK/$1" || return
	SHORT=2s WAIT=6 SERVER=() OPTIONS=() ROW_URL='' TURN='' LIMIT=() ADMIN_DB=0
	! is_function "prepare_$NAME" || "prepare_$NAME"
	start_redis --user admin on nopass '~*' '&*' +@all "${SERVER[@]}" || return
	: "${ROW_URL:=$URL_TCP}"
	ROW_URL=${ROW_URL//PORT/$REDIS_PORT}
	! is_function "arrange_$NAME" || "arrange_$NAME"
	export DLOCK_SERVER=$ROW_URL
	set_the_scene && play
	touch finished
	[ -z "${HOG:-}" ] || kill "$HOG" 2>/dev/null
	kill -KILL "${PID[@]}" 2>/dev/null
	[ -z "${PROXY_DIR:-}" ] || remove_proxy
	stop_redis
}

is_function() {
	[ "$(type -t "$1")" = function ]
}

# Whatever befalls the users, this one may do everything.
admin() {
	timeout 5 redis-cli -s "$REDIS_SOCK" -n "$ADMIN_DB" --user admin --pass any --no-auth-warning --raw "$@"
}

# run_dlock TAG ARG...: in the background; its pid in PID[TAG], its words in TAG.log.
run_dlock() {
	env --default-signal=INT,QUIT "$DLOCK" -v "${OPTIONS[@]}" "${@:2}" >>"$1.out" 2>>"$1.log" </dev/null &
	PID[$1]=$!
	track "$!"
}

# ended TAG SECONDS: STATUS, or `alive`.
ended() {
	STATUS=alive
	if poll_for "$(($2 * 1000))" gone "${PID[$1]}"; then
		STATUS=0
		wait "${PID[$1]}" || STATUS=$?
		unset "PID[$1]"
	fi
}

expect() {
	[ "$2" = "$3" ] || echo "$1: $2, not $3"
}

expect_said() {
	[ "$SAYS" = - ] || grep -qF -- "$SAYS" "$1.log" || echo "$1 does not say: $SAYS"
}

# COMMAND of a holder: until the file is there.
stay() {
	echo "until [ -e $1.go ]; do sleep 0.05; done; exit 23"
}

# The one whose wait will be over comes last, so that it is not over before all has begun.
set_the_scene() {
	declare -gA PID=()
	admin SET lock:w another PX 600000 >/dev/null
	run_dlock a --ttl 40s a sh -c "$(stay a)"
	run_dlock c --ttl 40s c sh -c "$(stay c)"
	run_dlock b --ttl "$SHORT" b sh -c "$(stay b)"
	poll_for 8000 all_hold || { echo "the scene is not set: nobody holds"; return 1; }
	QUEUED=$(now_ms)
	run_dlock w1 -w "$WAIT" w touch ran.w1
	poll_for 5000 all_wait 1
	run_dlock w2 -w 90s w touch ran.w2
	poll_for 5000 all_wait 2 || { echo "the scene is not set: nobody waits"; return 1; }
}

all_hold() {
	[ "$(admin EXISTS lock:a lock:b lock:c)" = 3 ]
}

all_wait() {
	[ "$(admin ZCARD "lock:w#queue{lock:w}")" = "$1" ]
}

play() {
	"provoke_$NAME" >>provoke.out || { echo "not provoked"; return; }
	PROVOKED=$(now_ms)
	[ $((PROVOKED - QUEUED)) -lt $((WAIT * 1000 - 1000)) ] || echo "provoked too late for who waits"
	touch c.go
	case $TURN in
	'') ;;
	yes) admin DEL lock:w >/dev/null ;;
	*) "$TURN" >/dev/null ;;
	esac
	on_acquire
	on_release
	on_holding
	on_waiting
	is_function "cure_$NAME" || return
	"cure_$NAME" >>provoke.out || { echo "not cured"; return; }
	afterwards
}

# attempt ARG...: at another lock, STATUS and MS.
attempt() {
	local start
	start=$(now_ms)
	STATUS=0
	timeout -k 1 20 "${LIMIT[@]}" "$DLOCK" "${OPTIONS[@]}" --connect-timeout 1s "$@" d touch ran.d >/dev/null 2>attempt.log ||
		STATUS=$?
	MS=$(($(now_ms) - start))
}

on_acquire() {
	local wanted=$ON_ACQUIRE how
	[ "$wanted" != retried ] || wanted=69
	[ "$wanted" != fine ] || wanted=0
	for how in -n '' '-w 1s' '-w 19s'; do
		[ "$how $ON_ACQUIRE" != '-w 19s retried' ] || continue
		# shellcheck disable=SC2086 # an option and its value
		attempt $how
		expect "acquire $how" "$STATUS" "$wanted"
		[ "$wanted" = 0 ] || expect_said attempt
		[ "$wanted" = 0 ] || [ ! -e ran.d ] || echo "COMMAND has run"
		[ "$how $ON_ACQUIRE" != '-w 1s retried' ] || [ "$MS" -ge 1000 ] || echo "acquire $how: after $MS ms"
		[ "$MS" -le 12000 ] || echo "acquire $how: $MS ms"
	done
	[ "$ON_ACQUIRE" != retried ] || run_dlock d -w 90s d touch ran.d
}

on_release() {
	local wanted=23
	[ "$ON_RELEASE" != 79 ] || wanted=79
	ended c 10
	expect "release" "$STATUS" "$wanted"
	case $ON_RELEASE in
	retried)
		grep -q "cannot release 'c'" c.log || echo "release: no warning"
		expect_said c
		;;
	fine) ! grep "cannot release\|lost" c.log || echo "release: a complaint" ;;
	esac
}

on_holding() {
	case $ON_HOLDING in
	fine)
		# Longer than its lease.
		poll_for 5000 past $((PROVOKED + 3000))
		ended b 0
		expect "holding" "$STATUS" alive
		! grep lost b.log || echo "holding: a complaint"
		;;
	*)
		ended b 12
		expect "holding" "$STATUS" 79
		[ "$ON_HOLDING" = 79 ] || expect_said b
		;;
	esac
}

past() {
	[ "$(now_ms)" -ge "$1" ]
}

on_waiting() {
	ended w1 20
	[ ! -e ran.w1 ] || echo "waiting: COMMAND has run"
	case $ON_WAITING in
	retried)
		local wanted=69
		[ "$ON_ACQUIRE" != 71 ] || wanted=71
		expect "waiting -w" "$STATUS" "$wanted"
		expect_said w1
		;;
	fine)
		expect "waiting -w" "$STATUS" 75
		[ "$SAYS" = - ] || expect_said w1
		;;
	*)
		expect "waiting -w" "$STATUS" "$ON_WAITING"
		expect_said w1
		return
		;;
	esac
	ended w2 0
	expect "waiting" "$STATUS" alive
}

# What was only tried again goes on as if nothing had been.
afterwards() {
	touch a.go b.go
	if [ "$ON_HOLDING" != 79 ]; then
		ended a 12
		expect "released afterwards" "$STATUS" 23
		! grep "cannot release\|lost" a.log || echo "afterwards: a complaint"
	fi
	if [ "$ON_WAITING" = retried ] || [ "$ON_WAITING" = fine ]; then
		admin DEL lock:w >/dev/null
		ended w2 15
		expect "waited on" "$STATUS" 0
		[ -e ran.w2 ] || echo "waiting: COMMAND has not run"
	fi
	if [ "$ON_ACQUIRE" = retried ]; then
		ended d 15
		expect "acquire -w 90s" "$STATUS" 0
		[ -e ran.d ] || echo "acquire: COMMAND has not run"
	fi
}

# --- what befalls them ---
#
# Where the server has to be started again the short lease is long enough for its first answers.

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

provoke_noperm() { admin ACL SETUSER default -eval; }
cure_noperm() { admin ACL SETUSER default +@all; }

provoke_noperm_inside() { admin ACL SETUSER default -get; }
cure_noperm_inside() { admin ACL SETUSER default +@all; }

prepare_loading() { SHORT=6s WAIT=10 SERVER=(--loading-process-events-interval-bytes 1024); }
provoke_loading() {
	admin DEBUG POPULATE 60000 && admin SAVE && restart_with --key-load-delay 300 &&
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

prepare_wrong_db() { SHORT=6s WAIT=10 ROW_URL=redis://127.0.0.1:PORT/3 ADMIN_DB=3; }
provoke_wrong_db() { ADMIN_DB=0 && restart_with --databases 1; }

# A proxy that does not pass a command on answers as a server that does not know it.
prepare_no_eval() { SHORT=6s WAIT=10; }
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
