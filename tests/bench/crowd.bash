#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: many dlocks that wait for one lock. What they cost the server while it is
# held; what they do when it is free: in which order they come, whether two are in at once, how long
# the lock takes from one to the next; and how many scripts all of it takes.
#
# Each is started when the one before is in line, so the order of their coming is known. COMMAND is
# stamp.c, so it is known too when each was in.
#
# shellcheck disable=SC2154 # variables are run's

crowd_pids=()  # the holder first
crowd_queue=''

# redis_now COMMAND...: sets answer; over one connection, so that asking costs no process.
redis_now() {
	printf '%s\r\n' "$*" >&"$redis_fd"
	IFS= read -r -t 10 -u "$redis_fd" answer || fail "the server does not answer $1"
	answer=${answer%$'\r'}
}

# in_crowd N: N of them are in line.
in_crowd() {
	redis_now ZCARD "$crowd_queue"
	[ "$answer" = ":$1" ]
}

# poll_for LIMIT_MS COMMAND...: every few milliseconds.
poll_for() {
	local limit=$(($1 / 2))
	shift
	until "$@"; do
		limit=$((limit - 1))
		[ "$limit" -gt 0 ] || return 1
		sleep 0.002
	done
}

# enter N: the Nth dlock; it ends of itself should this script be killed.
enter() {
	local fifo=()
	[ "$1" -gt 0 ] || fifo=("$dir/crowd/go")
	setpriv --pdeathsig TERM -- "$dlock" -q -S "redis://127.0.0.1:$redis_port" "$crowd_lock" \
		"$programs/stamp" "$dir/crowd/stamps" "$1" "${fifo[@]}" \
		</dev/null >/dev/null 2>>"$dir/crowd/log" {go_fd}>&- {redis_fd}>&- &
	crowd_pids+=($!)
}

# stamps: STARTED and ENDED of each, in nanoseconds, the holder first; 0 is not yet.
stamps() {
	od -An -v -t d8 -w16 "$dir/crowd/stamps"
}

holder_is_in() {
	stamps | awk 'NR == 1 { exit !($1 > 0) }'
}

# gather LOCK N: a holder and, behind it, N waiters.
gather() {
	local count=$2 i patience=10000
	crowd_lock=$1 crowd_queue="lock:$1#queue{lock:$1}" crowd_pids=()
	rm -rf "$dir/crowd"
	mkdir "$dir/crowd"
	mkfifo "$dir/crowd/go"
	head -c $((16 * (count + 1))) /dev/zero >"$dir/crowd/stamps"
	exec {go_fd}<>"$dir/crowd/go" {redis_fd}<>"/dev/tcp/127.0.0.1/$redis_port"
	enter 0
	poll_for 10000 holder_is_in || fail "no dlock holds $crowd_lock"
	for ((i = 1; i <= count; i++)); do
		enter "$i"
		poll_for "$patience" in_crowd "$i" && continue
		fail "waiter $i of $crowd_lock is not in line: $(tail -n 1 "$dir/crowd/log")"
	done
	stamps | awk 'NR > 1 && $1 > 0 { exit 1 }' || fail "a waiter did not wait for $crowd_lock"
}

all_were_in() {
	stamps | awk '$2 == 0 { exit 1 }'
}

# disperse: lets the holder's command end, and waits until all have been in.
disperse() {
	local limit=$((${#crowd_pids[@]} / 10 + 10)) pid
	printf . >&"$go_fd"
	until all_were_in; do
		limit=$((limit - 1))
		[ "$limit" -gt 0 ] || fail "not everybody got $crowd_lock: $(tail -n 1 "$dir/crowd/log")"
		sleep 0.5
	done
	for pid in "${crowd_pids[@]}"; do
		wait "$pid" || fail "a dlock of $crowd_lock failed: $(tail -n 1 "$dir/crowd/log")"
	done
	crowd_pids=()
	exec {go_fd}>&- {redis_fd}>&-
}

# For cleanup: all of them at once.
end_crowd() {
	local tenths=30 pid
	[ "${#crowd_pids[@]}" -gt 0 ] || return
	kill -TERM "${crowd_pids[@]}" 2>/dev/null
	for pid in "${crowd_pids[@]}"; do
		while is_running "$pid"; do
			tenths=$((tenths - 1))
			[ "$tenths" -gt 0 ] || kill -KILL "$pid" 2>/dev/null
			sleep 0.1
		done
	done
}

# scripts_run: sets scripts to how many the server has run.
scripts_run() {
	scripts=$(redis-cli -p "$redis_port" INFO commandstats |
		sed -n 's/^cmdstat_\(eval\|evalsha\|fcall\):calls=\([0-9]*\),.*/\2/p' |
		awk '{ sum += $1 } END { print sum + 0 }')
}

# watch_crowd: the scripts that it needs while the lock is held; five seconds at a time, since
# those who ask once a minute may all do it at once.
watch_crowd() {
	local began=$EPOCHREALTIME first last=0 busiest=0 left=$wait_seconds step
	scripts_run
	first=$scripts last=$scripts
	while [ "$left" -gt 0 ]; do
		step=$((left < 5 ? left : 5))
		left=$((left - step))
		sleep "$step" &
		wait "$!"
		scripts_run
		[ $(((scripts - last) / step)) -le "$busiest" ] || busiest=$(((scripts - last) / step))
		last=$scripts
	done
	record figure scripts_per_second "$(awk -v count=$((scripts - first)) -v from="$began" \
		-v to="$EPOCHREALTIME" 'BEGIN { printf "%.2f", count / (to - from) }')"
	record figure busiest_scripts_per_second "$busiest"
	record figure watched_seconds "$wait_seconds"
}

# judge_order: whether each came when it was its turn, and none while another was in.
judge_order() {
	stamps | awk '
		NR > 1 && $1 < latest { count++ }
		$1 > latest { latest = $1 }
		END { print count + 0 }' >"$dir/crowd/disorder"
	record figure out_of_order "$(<"$dir/crowd/disorder")"
	stamps | sort -n | awk '
		NR == 1 { began = $2 }
		NR > 1 && $1 < ended { overlaps++ }
		NR > 1 { printf "%.1f\n", ($1 - ended) / 1000 >times; last = $1 }
		{ ended = $2 > ended ? $2 : ended }
		END { printf "%d %.4f\n", overlaps, (last - began) / (NR - 1) / 1000000 }' \
		times="$dir/crowd/times" >"$dir/crowd/judged"
	read -r overlaps each <"$dir/crowd/judged"
	record figure overlaps "$overlaps"
	record figure ms_per_handoff "$each"
	contender dlock-tcp
	sort -n "$dir/crowd/times" | awk -v kind="$kind" -v name="$name" '
		{ time[NR] = $1 }
		END {
			printf "drain\t%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t0\n", kind, name, NR, time[1],
				time[int(NR / 2) + 1], time[int((NR * 99 + 99) / 100)]
		}' >>"$out"
}

# count_scripts: with MONITOR, of a smaller crowd, since MONITOR makes the server slower.
count_scripts() {
	local count=$((waiters < 100 ? waiters : 100)) scripts
	serve monitor redis-cli -p "$redis_port" MONITOR
	wait_for 50 grep -q '^OK' "$dir/monitor.log" || fail 'MONITOR does not work'
	gather bench-scripts "$count"
	disperse
	redis-cli -p "$redis_port" ECHO bench-has-ended >/dev/null
	wait_for 50 grep -q 'bench-has-ended' "$dir/monitor.log" || fail 'MONITOR lags behind'
	end "${pids[-1]}"
	unset 'pids[-1]'
	# A line: TIME [DB ADDRESS] "COMMAND" ...; where ADDRESS is lua it is a script's own command.
	scripts=$(grep -ciE '^[0-9.]+ \[[0-9]+ [^l][^]]*\] "(eval|evalsha|fcall)"' "$dir/monitor.log")
	record figure scripts_per_acquisition \
		"$(awk -v scripts="$scripts" -v count="$count" 'BEGIN { printf "%.3f", scripts / (count + 1) }')"
}

# has_room OPTION WHAT: the server raises its own soft limit as far as it may.
has_room() {
	local room
	room=$(ulimit "$1")
	[ "$room" = unlimited ] || [ "$room" -ge $((waiters + 200)) ] ||
		fail "$waiters waiters need a higher limit on $2 (ulimit $1) than $room"
}

measure_crowd() {
	[[ " ${chosen[*]} " = *' dlock-tcp '* ]] || return
	has_room -u processes
	has_room -Hn 'open files'
	record figure waiters "$waiters"
	gather bench-crowd "$waiters"
	watch_crowd
	disperse
	judge_order
	count_scripts
}
