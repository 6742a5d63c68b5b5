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
# Needs helpers/proxy and helpers/tls. A row (badday_rows.bash, badday_quorum.bash) is provoke_NAME, cure_NAME (where there is a cure after which the locks are as they were), and,
# where the server or the dlocks need something for it from the start, prepare_NAME.
#
# shellcheck disable=SC2034,SC2317 # variables are for the caller; the rows' functions are called by name

# shellcheck source=tests/helpers/badday_rows.bash
source "$TESTS_DIR/helpers/badday_rows.bash"

# shellcheck source=tests/helpers/quorum.bash
source "$TESTS_DIR/helpers/quorum.bash"
# shellcheck source=tests/helpers/badday_quorum.bash
source "$TESTS_DIR/helpers/badday_quorum.bash"

DIAGNOSTICS=$TESTS_DIR/diagnostics.list
POKE_MS=6000 # the first in line asks every 5 s, give or take a tenth
LOCKS=(lock:a lock:b lock:c lock:d lock:w)

every_row() {
	sed -n 's/^\([a-z_]*\) |.*/\1/p' "$DIAGNOSTICS"
}

bad_days() {
	local name count=0 pids=() names=()
	[ $# -gt 0 ]
	for name in "$@"; do
		! happens "$name" || names+=("$name")
	done
	for name in "${names[@]}"; do
		mkdir "$WORK/$name"
		(bad_day "$name" >"$WORK/$name/wrong" 2>"$WORK/$name/trace") 3>&- 4>&- &
		pids+=("$!")
		track "$!"
	done
	wait "${pids[@]}" || true
	for name in "${names[@]}"; do
		[ -e "$name/finished" ] || { echo "$name did not come to its end:"; tail -n 20 "$name/trace" | cut -c 1-200; } >>"$name/wrong"
		[ ! -s "$name/wrong" ] || { echo "--- $name"; cat "$name/wrong"; tail -n 40 "$name"/*.log || true; count=$((count + 1)); } >&2
	done
	[ "$count" = 0 ]
}

# --- one row ---

# happens NAME: this server has it; else the reason why not.
happens() {
	local why
	case $1 in
	noreplicas) why='lets scripts write all the same' ;;
	protected) why='protects only a server that is bound to no address' ;;
	*) return 0 ;;
	esac
	server_has 7.0 || { echo "# $1: not here, Redis before 7.0 $why" >&3; return 1; }
}

bad_day() {
	local row
	set +e # what fails is told, and goes on
	row=$(grep "^$1 |" "$DIAGNOSTICS") || { echo "no such row"; return; }
	IFS='|' read -r NAME SAYS ON_ACQUIRE ON_WAITING ON_HOLDING ON_RELEASE <<<"${row// | /|}"
	cd "$WORK/$1" || return
	START=start_redis STOP=stop_redis QUORUM='' SHORT=2s WAIT=12 SERVER=() OPTIONS=() ROW_URL='' TURN='' LIMIT=() ADMIN_DB=0
	! is_function "prepare_$NAME" || "prepare_$NAME"
	"$START" --user admin on nopass '~*' '&*' +@all "${SERVER[@]}" || return
	SAYS=${SAYS/Redis/$SERVER_PRODUCT} # Valkey says its own name, or none
	SAYS=${SAYS/Valkey is running in protected/Running in protected}
	: "${ROW_URL:=$URL_TCP}"
	ROW_URL=${ROW_URL//PORT/$REDIS_PORT}
	! is_function "arrange_$NAME" || "arrange_$NAME"
	export DLOCK_SERVER=$ROW_URL
	set_the_scene && play
	touch finished
	[ -z "${HOG:-}" ] || kill "$HOG" 2>/dev/null
	kill -KILL "${PID[@]}" 2>/dev/null
	[ -z "${PROXY_DIR:-}" ] || remove_proxy
	"$STOP"
}

is_function() {
	[ "$(type -t "$1")" = function ]
}

# Whatever befalls the users, this one may do everything.
admin() {
	timeout 5 redis-cli -s "$REDIS_SOCK" -n "$ADMIN_DB" --user admin --pass any --no-auth-warning --raw "$@"
}

# Of several servers, to each.
everywhere() {
	local k
	[ -n "$QUORUM" ] || { admin "$@"; return; }
	for ((k = 1; k <= NODES; k++)); do
		REDIS_SOCK=$(dir_of_node "$k")/s admin "$@" || return
	done
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

# COMMAND of a holder: until the file is there. It writes down when it was alive.
stay() {
	echo "until [ -e $1.go ]; do read -r up _ </proc/uptime; echo \$up >>$1.beat; sleep 0.05; done; exit 23"
}

# Promise 1: COMMAND of b has not lived to see the end of its key, a lease after the last renewal that
# counts was sent.
expect_dead_in_time() {
	local beat sent
	beat=$(tail -n 1 b.beat)
	sent=$(sed -n 's/^dlock: confirmed t0=\([0-9.]*\) .*/\1/p' b.log | tail -n 1)
	awk -v beat="$beat" -v sent="$sent" -v ttl="${SHORT%s}" \
		'BEGIN { exit !(sent > 0 && beat > sent - 1 && beat < sent + ttl) }' ||
		echo "holding: COMMAND was alive at $beat, its key was renewed at $sent for $SHORT"
}

# The one whose wait will be over comes last, so that it is not over before all has begun.
set_the_scene() {
	declare -gA PID=()
	everywhere SET lock:w another PX 600000 >/dev/null
	run_dlock a --ttl 40s a sh -c "$(stay a)"
	run_dlock c --ttl 40s c sh -c "$(stay c)"
	run_dlock b -v --ttl "$SHORT" b sh -c "$(stay b)"
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
	if [ -n "$QUORUM" ]; then
		grep -q "waiting for 'w'" "w$1.log" # in no line
	else
		[ "$(admin ZCARD "lock:w#queue{lock:w}")" = "$1" ]
	fi
}

play() {
	"provoke_$NAME" >>provoke.out || { echo "not provoked"; return; }
	PROVOKED=$(now_ms)
	[ $((PROVOKED - QUEUED)) -lt $((WAIT * 1000 - POKE_MS)) ] || echo "provoked too late for who waits"
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
		[ "$wanted" != 0 ] || rm ran.d || echo "COMMAND has not run"
		[ "$how $ON_ACQUIRE" != '-w 1s retried' ] || [ "$MS" -ge 950 ] || echo "acquire $how: after $MS ms"
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
		ended b $((${SHORT%s} + 10))
		expect "holding" "$STATUS" 79
		expect_dead_in_time
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
		# Whose turn has come has it by now.
		[ "$(admin GET lock:w)" != another ] || everywhere DEL lock:w >/dev/null
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
