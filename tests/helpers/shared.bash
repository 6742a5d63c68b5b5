#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Several dlocks of one lock, by name, and what the server's books say of them.
#
#   load helpers/common; load helpers/shared
#   setup_file() { start_redis; }  ...  setup() { shared_setup; }
#   begin a -s                dlock -s job COMMAND in the background
#   enter a -s                the same, and waits until COMMAND is running
#   queue a -s                the same, and waits until it stands in line, as the last one
#   leave a                   COMMAND of a ends with status 23, and so does dlock
#   crash a                   kill -9 of all of dlock a; its COMMAND is gone
#   is_in a; is_out a         COMMAND is running; COMMAND has not been started
#   token_of a, fence_of a, slot_of a         what COMMAND found; slot `none` where there is none
#
# OUTERS[a] is the dlock, and log.a its stderr.
#
# shellcheck disable=SC2016,SC2034,SC2154 # dollars for the shell inside; variables for the caller

shared_setup() {
	common_setup
	declare -gA OUTERS=()
	at_teardown show_logs
	redis FLUSHALL >/dev/null
}

# bats shows it when a test has failed.
show_logs() {
	local file
	for file in log.*; do
		[ ! -s "$file" ] || { echo "--- $file"; cat "$file"; }
	done
}

members_key_of() {
	echo "lock:$1#members{lock:$1}"
}

queue_key_of() {
	echo "lock:$1#queue{lock:$1}"
}

# COMMAND: says who it is, and stays until it is told to leave.
STAY='exec 3<>"go.$0"
	echo "$DLOCK_TOKEN $DLOCK_FENCE ${DLOCK_SLOT-none}" >"in.$0"
	read -r status <&3
	exit "${status:-1}"'

begin() {
	local id=$1
	shift
	[ -p "go.$id" ] || mkfifo "go.$id"
	rm -f "in.$id"
	start env --default-signal=INT,QUIT "$DLOCK" "$@" job sh -c "$STAY" "$id" 2>>"log.$id"
	OUTERS[$id]=$STARTED
}

enter() {
	begin "$@"
	wait_until 5s is_in "$1"
}

# begin_all N PREFIX OPTION...: PREFIX0 and so on are in line, in any order.
begin_all() {
	local i n=$1 prefix=$2 before
	shift 2
	before=$(waiting)
	for ((i = 0; i < n; i++)); do
		begin "$prefix$i" "$@"
	done
	wait_until 5s waiting_are $((before + n))
}

queue() {
	local before
	before=$(waiting)
	begin "$@"
	wait_until 5s waiting_are $((before + 1))
	is_out "$1"
}

leave() {
	echo 23 1<>"go.$1"
	exit_status_of "${OUTERS[$1]}"
	[ "$STATUS" -eq 23 ] || { echo "$1 ended with $STATUS" >&2; show_scene >&2; return 1; }
}

# OUTER first would have RUNNER free the lock, and RUNNER first OUTER say what happened.
crash() {
	local outer=${OUTERS[$1]}
	wait_until 2s running "$outer"
	kill -STOP "$RUNNER" "$outer"
	kill -KILL "$outer" "$RUNNER"
	wait_until 2s gone "$outer" "$RUNNER" "$COMMAND"
	disown "$outer" 2>/dev/null || true
}

is_in() {
	[ -s "in.$1" ]
}

is_out() {
	[ ! -s "in.$1" ]
}

# all_in ID...; all_out ID...
all_in() {
	local id
	for id; do is_in "$id" || return 1; done
}

all_out() {
	local id
	for id; do is_out "$id" || { echo "$id has the lock" >&2; return 1; }; done
}

token_of() {
	cut -d' ' -f1 "in.$1"
}

fence_of() {
	cut -d' ' -f2 "in.$1"
}

slot_of() {
	cut -d' ' -f3 "in.$1"
}

# lost ID: it ends with 79 and one line that says so.
lost() {
	exit_status_of "${OUTERS[$1]}"
	[ "$STATUS" -eq 79 ] || { echo "$1 ended with $STATUS" >&2; show_scene >&2; return 1; }
	grep -qF "dlock: lost 'job': " "log.$1"
}

# undisturbed ID...: they run, and have said nothing but that they waited.
undisturbed() {
	local id
	for id; do
		alive "${OUTERS[$id]}" || { echo "$id has ended" >&2; show_scene >&2; return 1; }
		! grep -v "^dlock: waiting for 'job', held by " "log.$id" >&2 || return 1
	done
}

# conflict ARG...: `dlock -n ARG... job` is a conflict, with one line.
conflict() {
	run dlock -n "$@" job touch ran
	[ "$status" -eq 75 ] || fail "status $status: $output"
	[ "${#lines[@]}" -eq 1 ] || fail "not one line: $output"
	[[ $output == "dlock: 'job' "* ]] || fail "not of job: $output"
	[ ! -e ran ] || fail "COMMAND was run"
}

# refused_with 69 WORDS ARG...: `dlock ARG... job` ends with that status before anything is waited
# for, in one line with WORDS (a regular expression).
refused_with() {
	local status_wanted=$1 words=$2
	shift 2
	start_clock
	run dlock -w 30 "$@" job touch ran
	[ "$status" -eq "$status_wanted" ] || fail "status $status: $output"
	assert_between 0 5000 "$(clock_ms)" "milliseconds until it was refused"
	[ "${#lines[@]}" -eq 1 ] || fail "not one line: $output"
	[[ $output =~ ^"dlock: ".*$words ]] || fail "not /$words/: $output"
	[ ! -e ran ] || fail "COMMAND was run"
}

# --- the server's books ---

waiting() {
	redis ZCARD "$(queue_key_of job)"
}

waiting_are() {
	[ "$(waiting)" -eq "$1" ]
}

members_are() {
	[ "$(redis ZCARD "$(members_key_of job)")" -eq "$1" ]
}

# is_member TOKEN
is_member() {
	[ -n "$(redis ZSCORE "$(members_key_of job)" "$1")" ]
}

# expiry_of TOKEN: in milliseconds of the server's clock; its slot is the fraction.
expiry_of() {
	local score
	score=$(redis ZSCORE "$(members_key_of job)" "$1")
	echo "${score%%.*}"
}

scored_slot_of() {
	redis ZSCORE "$(members_key_of job)" "$1" |
		awk '{ sub(/^[^.]*/, ""); printf "%d\n", ("0" $0) * 1024 + 0.5 }'
}

# renewed ID EXPIRY: its lease ends 0.6 s later than that: two renewals with a TTL of 1 s. For wait_until.
renewed() {
	[ "$(expiry_of "$(token_of "$1")")" -ge $(($2 + 600)) ]
}

server_ms() {
	redis TIME | { read -r seconds && read -r micros && echo $((seconds * 1000 + micros / 1000)); }
}

# no_trace: of the lock nothing is left but its fence, which expires.
no_trace() {
	[ "$(redis --scan)" = "$(fence_key_of job)" ] && [ "$(redis PTTL "$(fence_key_of job)")" -gt 0 ]
}

# watch_expiries, stop_watching: between them no script or command ever left a key without expiry.
watch_expiries() {
	start redis-cli -s "$REDIS_SOCK" --raw -r -1 -i 0.004 EVAL "-- the watcher
		for _, key in ipairs(redis.call('KEYS', '*')) do
			if redis.call('PTTL', key) == -1 then return key end
		end
		return 'none ' .. redis.call('DBSIZE')" 0 >watched
	WATCHER=$STARTED
	wait_until 2s test -s watched
}

stop_watching() {
	kill -TERM "$WATCHER"
	wait_until 2s gone "$WATCHER"
	grep -q '^none [1-9]' watched || { echo "nothing was there to watch" >&2; return 1; }
	! grep -v '^none [0-9]*$' watched
}

# monitor, then declared_keys: every script has named the five keys of job, or some of them and K
# first, and used no other; they were N scripts at least.
monitor() {
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
}

declared_keys() {
	awk -v least="$1" '
		BEGIN {
			split("lock:job lock:job#fence{lock:job} lock:job#info{lock:job} " \
				"lock:job#queue{lock:job} lock:job#members{lock:job}", names, " ")
			for (i in names)
				known[names[i]] = 1
		}
		function bad(why) {
			print why ": " substr($0, 1, 200) " ..."
			wrong = 1
		}
		{ gsub(/\\./, "?") }
		/"EVAL" "-- the watcher/ { others = 1; next }
		$4 == "\"EVAL\"" || $4 == "\"eval\"" || $4 == "\"EVALSHA\"" {
			# 1796049362.2 [0 unix:...] "EVAL" "text" "5" "K" ...
			sub(/"$/, "")
			count = split($0, part, /" "/)
			delete declared
			for (i = 1; i <= part[3]; i++) {
				if (!(part[3 + i] in known))
					bad("not a key of this lock: " part[3 + i])
				declared[part[3 + i]] = 1
			}
			if (part[4] != "lock:job" || part[3] > 5)
				bad("not K and siblings")
			# Tokens, numbers, a record: but no name of a key, unless it is the beginning of a channel.
			for (i = 4 + part[3]; i <= count; i++)
				if (part[i] in known)
					bad("a key among the arguments")
			scripts++
			others = 0
			next
		}
		$3 == "lua]" && !others {
			command = toupper(substr($4, 2, length($4) - 2))
			key = $5
			gsub(/"/, "", key)
			if (command ~ /^(TIME|PUBLISH|PUBSUB)$/)
				next
			if (!(key in declared))
				bad("used without being named")
		}
		END {
			if (scripts < least)
				bad(scripts + 0 " scripts in all, at")
			exit wrong
		}' monitor
}

# --- many runs at once ---

# A COMMAND that writes what it was, when it was launched, and from when until when it ran, a line each
# in `ran`: MODE SLOT FENCE LAUNCHED BEGAN ENDED (microseconds of the wall clock).
RECORD='began=${EPOCHREALTIME/[.,]/}
	sleep "$1"
	echo "$0 ${DLOCK_SLOT--} $DLOCK_FENCE $LAUNCHED $began ${EPOCHREALTIME/[.,]/}" >>ran'

# record MODE SECONDS OPTION...: a run of that COMMAND. MODE: x, s or the number of slots.
record() {
	local mode=$1 seconds=$2 how
	shift 2
	case $mode in
	x) how=(-x) ;;
	s) how=(-s) ;;
	*) how=(--slots "$mode") ;;
	esac
	LAUNCHED=${EPOCHREALTIME/[.,]/} "$DLOCK" "${how[@]}" "$@" job bash -c "$RECORD" "$mode" "$seconds"
}

# assert_compatible N: `ran` has N lines, and
#   - two runs that overlap are both shared, or of the same number of slots and in two of those;
#   - no two have the same fence;
#   - who was launched when another had begun has the higher fence, and so has who began when another
#     had ended that excludes it.
assert_compatible() {
	awk -v wanted="$1" '
		function may_share(a, b) {
			if (mode[a] != mode[b] || mode[a] == "x")
				return 0
			return mode[a] == "s" || slot[a] != slot[b]
		}
		function bad(why, a, b) {
			print why ": " line[a] " | " line[b]
			wrong = 1
		}
		{
			line[NR] = $0; mode[NR] = $1; slot[NR] = $2; fence[NR] = $3
			launched[NR] = $4; began[NR] = $5; ended[NR] = $6
			if (NF != 6 || ($1 ~ /^[0-9]+$/) != ($2 ~ /^[0-9]+$/) || ($2 != "-" && $2 >= $1 + 0))
				bad("no such slot", NR, NR)
		}
		END {
			if (NR != wanted) {
				print NR " runs, not " wanted
				wrong = 1
			}
			for (a = 1; a <= NR; a++)
				for (b = 1; b <= NR; b++) {
					if (a == b)
						continue
					if (fence[a] == fence[b])
						bad("the same fence", a, b)
					if (began[a] < ended[b] && began[b] < ended[a] && !may_share(a, b))
						bad("together", a, b)
					if (began[a] < launched[b] && fence[a] >= fence[b])
						bad("a lower fence for who came later", a, b)
					if (ended[a] <= began[b] && !may_share(a, b) && fence[a] >= fence[b])
						bad("a lower fence for who had it later", a, b)
				}
			exit wrong
		}' ran >&2
}

# most_at_once MODE: of the runs of that mode so many were there at one time.
most_at_once() {
	awk -v mode="$1" '$1 == mode { print $5, 1; print $6, -1 }' ran | sort -n |
		awk '{ now += $2 } now > most { most = now } END { print most + 0 }'
}
