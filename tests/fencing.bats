#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# docs/fencing.md on a PostgreSQL: what the page says is run, and its sessions are compared with what the
# programs say. The other stores are in fencing_stores.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # dollars that the other shell expands; in_freezer

load helpers/common
load helpers/postgres
load helpers/freezer
load helpers/page

setup_file() {
	start_postgres
	start_redis
	export PGHOST=$PG_DIR PGPORT=$PG_PORT PGUSER=postgres PGDATABASE=postgres
}

teardown_file() {
	stop_redis
	stop_postgres
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
	take_blocks
	sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' >/dev/null 2>&1
}

# run_file FILE NUMBER [PSQL-OPTION...]: as psql prints it.
run_file() {
	timeout 20 psql -X -v ON_ERROR_STOP=1 -v fence="$2" "${@:3}" -f "$1" 2>&1
}

make_tables() {
	local file
	for file; do
		psql -X -q -v ON_ERROR_STOP=1 -f "$file"
	done
}

# write_report NUMBER [TEXT]
write_report() {
	run_file write-report.sql "$1" -v name=nightly -v body="${2:-by $1}"
}

report() {
	sql "SELECT body || ', ' || fence FROM report WHERE name = 'nightly'"
}

# open_session: a psql at the end of a pipe, to which `tell` sends; what it says is in `said`.
open_session() {
	TOLD=0
	mkfifo session
	start psql -X -v ON_ERROR_STOP=0 -f session >said 2>&1
	SESSION=$STARTED
	exec 5>session
}

tell() {
	TOLD=$((${TOLD:-0} + 1))
	printf '%s\n' "$1" "\\echo told $TOLD" >&5
	wait_until 5s grep -qx "told $TOLD" said
}

close_session() {
	exec 5>&-
	wait_until 5s gone "$SESSION"
}

# somebody_waits: for a lock of another transaction's.
somebody_waits() {
	[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" -ge "${1:-1}" ]
}

@test "every block of the page is run or compared here, but MySQL's" {
	diff <(sed -nE 's/^```[a-z]+ (.+)$/\1/p' "$PAGE" | sort) <(printf '%s\n' after at-most-once begin-work.sql fence.sql \
		fenced-set.lua fenced-write late report.sql s3-put transfer.sql web1 web2 work.sql write-report write-report.sql)
	# Without a name: MySQL's.
	assert_equal "$(grep -cE '^```[a-z]+$' "$PAGE")" 1
	# What its links lead to is there.
	while read -r heading; do
		grep -qxiE "##* ${heading//-/[ :,]+}" "$PAGE" || fail "no heading for #$heading"
	done < <(grep -oE '\]\(#[^)]+' "$PAGE" | cut -c 4-)
}

@test "PostgreSQL, one write: the first, a higher number; an equal and a lower one are refused with 0 rows" {
	make_tables report.sql
	assert_equal "$(write_report 5)" 'INSERT 0 1'
	assert_equal "$(write_report 5 again)" 'INSERT 0 0'
	assert_equal "$(write_report 4)" 'INSERT 0 0'
	assert_equal "$(report)" 'by 5, 5'
	assert_equal "$(write_report 9223372036854775806)" 'INSERT 0 1'
	assert_equal "$(write_report 9223372036854775807)" 'INSERT 0 1'
	assert_equal "$(write_report 9223372036854775806)" 'INSERT 0 0'
	# A text that would end the statement, were it pasted into it.
	assert_equal "$(run_file write-report.sql 1 -v name="x'; DROP TABLE report; --" -v body=1)" 'INSERT 0 1'
	assert_equal "$(report)" 'by 9223372036854775807, 9223372036854775807'
}

@test "PostgreSQL, one write: many writers at once, the first write among them; no number falls" {
	local i pids=() pid
	make_tables report.sql
	sql "CREATE TABLE history (at serial, fence bigint);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO history (fence) VALUES (new.fence); RETURN new; END';
		CREATE TRIGGER note AFTER INSERT OR UPDATE ON report FOR EACH ROW EXECUTE FUNCTION note()" >/dev/null
	for i in 4 2 7 1 8 3 6 5; do
		start bash -c 'for i in {0..3}; do
			psql -X -q -v fence=$((i * 8 + $1)) -v name=nightly -v body="by $((i * 8 + $1))" -f write-report.sql || exit
			done' bash "$i"
		pids+=("$STARTED")
	done
	for pid in "${pids[@]}"; do
		exit_status_of "$pid" 20s
		[ "$STATUS" -eq 0 ]
	done
	assert_equal "$(report)" 'by 32, 32'
	assert_equal "$(sql 'SELECT count(*) FROM (SELECT fence <= lag(fence) OVER (ORDER BY at) AS fell FROM history) h WHERE fell')" 0
	[ "$(sql 'SELECT count(*) FROM history')" -ge 4 ]
}

# late_writer LEVEL FIRST END: a transaction that has written FIRST is open when 6 comes; then it ends so.
late_writer() {
	sql "DELETE FROM report; INSERT INTO report VALUES ('nightly', 'before', 1)"
	open_session
	tell "BEGIN ISOLATION LEVEL $1; UPDATE report SET body = 'by $2', fence = $2 WHERE fence < $2;"
	PGOPTIONS="-c default_transaction_isolation=${1// /\\ }" start run_file write-report.sql 6 -v name=nightly -v body='by 6' >late
	wait_until 5s somebody_waits
	tell "$3;"
	close_session
	wait_until 5s gone "$STARTED"
	rm session
}

@test "PostgreSQL, one write: a writer that waited compares with what was committed, in each isolation level" {
	local level
	make_tables report.sql
	for level in 'read committed' 'repeatable read' serializable; do
		late_writer "$level" 7 COMMIT
		assert_equal "$level: $(report)" "$level: by 7, 7"
		if [ "$level" = 'read committed' ]; then
			assert_equal "$(<late)" 'INSERT 0 0'
		else
			grep -F 'ERROR:  could not serialize access due to concurrent update' late
			assert_equal "$(write_report 6)" 'INSERT 0 0'
		fi
		late_writer "$level" 7 ROLLBACK
		assert_equal "$level: $(<late), $(report)" "$level: INSERT 0 1, by 6, 6"
	done
	late_writer 'read committed' 5 COMMIT
	assert_equal "$(<late), $(report)" 'INSERT 0 1, by 6, 6'
}

@test "what rule 1 forbids does harm: compared first, written then" {
	make_tables report.sql
	write_report 1
	open_session
	tell 'BEGIN; SELECT fence < 2 AS mine FROM report \gset'
	write_report 3
	tell "\\if :mine
		UPDATE report SET body = 'by 2', fence = 2; COMMIT;
		\\endif"
	close_session
	assert_equal "$(report)" 'by 2, 2'
}

# session COMMAND: a prompt, the command, and what it says, as_shown.
session() {
	{
		echo "$ $1"
		bash -c "$1" 2>&1
	} | as_shown
}

# Of a page and of what is compared with it: without blanks at the ends of lines, as an editor may have it, and
# without what is another each time.
as_shown() {
	sed -E -e 's/ *$//' -e '/^dlock: /s/[0-9]+\.[0-9]+s/N/g'
}

@test "PostgreSQL: a holder frozen past its lease wakes, its write is refused with 0 rows (Kleppmann's pause)" {
	local pid
	make_tables report.sql
	make_freezer
	# web1's psql, just before it begins.
	mkdir bin1
	printf '%s\n' '#!/bin/sh' 'touch asked; until [ -e woken ]; do sleep 0.01; done' \
		"exec '$(command -v psql)' \"\$@\"" >bin1/psql
	chmod +x bin1/psql
	PATH=$WORK/bin1:$PATH start "${in_freezer[@]}" "$DLOCK" --fence counter --ttl 2s nightly \
		-c "./write-report 'by web1' && echo ok" >said.web1 2>&1
	OUTER=$STARTED
	wait_until 5s test -e asked
	running "$OUTER"
	[ "$(descendants "$COMMAND" | wc -l)" -ge 2 ] # write-report, psql
	freeze
	touch woken
	wait_until 5s free nightly
	session "dlock --fence counter nightly -c \"./write-report 'by web2' && echo ok\"" >said.web2
	diff <(as_shown <web2) said.web2
	# The command is the first to have the processor; dlock stands still for a moment longer. (RUNNER's timer
	# has killed RUNNER, and the kernel with it its child, if this kind of freezer lets that through.)
	grep -vxF -e "$OUTER" -e "$RUNNER" "$FREEZER/cgroup.procs" >tree
	while read -r pid; do
		echo "$pid" >"${FREEZER%/*}/cgroup.procs"
	done <tree
	wait_until 5s grep -q 'comes too late' said.web1
	thaw
	exit_status_of "$OUTER"
	{
		echo "$ dlock --fence counter --ttl 2s nightly -c \"./write-report 'by web1' && echo ok\""
		cat said.web1
		printf '%s\n' '$ echo $?' "$STATUS"
	} | as_shown >web1.said
	diff <(as_shown <web1) web1.said
	session "psql -X -c 'TABLE report'" >said.after
	diff <(as_shown <after) said.after
}

make_accounts() {
	make_tables fence.sql
	sql "CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL);
		INSERT INTO account VALUES ('a', 100), ('b', 0)"
}

balances() {
	sql "SELECT string_agg(balance::text, ' ' ORDER BY id) FROM account"
}

@test "PostgreSQL, several writes: an equal number goes on, a lower one is an error that nobody overlooks" {
	make_accounts
	run_file transfer.sql 2
	run_file transfer.sql 2
	assert_equal "$(balances)" '80 20'
	session 'psql -X -v fence=1 -f transfer.sql' >said
	diff <(as_shown <late) said
	run -3 run_file transfer.sql 1
	assert_equal "$(balances)" '80 20'
	run_file transfer.sql 9223372036854775807
	run -3 run_file transfer.sql 9223372036854775806
	assert_equal "$(balances)" '70 30'
	assert_equal "$(sql 'TABLE fence')" 'nightly|9223372036854775807'
}

@test "PostgreSQL, several writes: a higher number waits for a transaction under way, a lower one is refused after it" {
	local level
	make_accounts
	for level in 'read committed' 'repeatable read' serializable; do
		sql "UPDATE account SET balance = CASE id WHEN 'a' THEN 100 ELSE 0 END; TRUNCATE fence; INSERT INTO fence VALUES ('nightly', 1)"
		export PGOPTIONS="-c default_transaction_isolation=${level// /\\ }"
		# The higher one waits; what it then reads is all there is.
		open_session
		tell "BEGIN; SELECT raise_fence('nightly', 7); UPDATE account SET balance = 50 WHERE id = 'a';"
		start run_file transfer.sql 8 >higher
		wait_until 5s somebody_waits
		tell 'COMMIT;'
		wait_until 5s gone "$STARTED"
		if [ "$level" != 'read committed' ]; then
			grep -F 'ERROR:  could not serialize access due to concurrent update' higher
			run_file transfer.sql 8
		fi
		assert_equal "$level: $(balances)" "$level: 40 10"
		# The lower one waits and is refused, whatever it saw before.
		tell "BEGIN; SELECT raise_fence('nightly', 9);"
		start run_file transfer.sql 8 >lower
		wait_until 5s somebody_waits
		tell 'COMMIT;'
		close_session
		rm session
		wait_until 5s gone "$STARTED"
		grep -E 'ERROR:  (lock nightly: number 8 comes too late|could not serialize access)' lower
		run -3 run_file transfer.sql 8
		assert_equal "$level: $(balances)" "$level: 40 10"
	done
}

@test "PostgreSQL, several writes: who is frozen in the middle of a transaction does not keep the others for long" {
	make_accounts
	run_file transfer.sql 1
	open_session
	# As far as the page's transaction goes before its first write.
	tell "$(sed -e '/^UPDATE/,$d' -e "s/:'fence'/2/" transfer.sql)"
	kill -STOP "$SESSION"
	start_clock
	run_file transfer.sql 3
	assert_between 500 6000 "$(clock_ms)" 'waited for the frozen one'
	kill -CONT "$SESSION"
	# psql -f ends where its connection has ended.
	echo "UPDATE account SET balance = 0 WHERE id = 'a'; COMMIT;" >&5
	close_session
	grep -F 'terminating connection due to idle-in-transaction timeout' said
	assert_equal "$(balances)" '80 20'
	# A late statement that was sent before its sender died.
	run -3 run_file transfer.sql 2
	assert_equal "$(balances)" '80 20'
}

@test "who reads first, raises first: a late write between reading and writing is refused" {
	make_accounts
	run_file transfer.sql 1
	# Without: 1's late write lands between 2's reading and writing, and is lost.
	local read
	read=$(balances)
	run_file transfer.sql 1
	[ "$(balances)" != "$read" ]
	# With: 2 has raised before it reads.
	sql "SELECT raise_fence('nightly', 2)"
	read=$(balances)
	run -3 run_file transfer.sql 1
	assert_equal "$(balances)" "$read"
	run_file transfer.sql 2
}

# --- what cannot be fenced ---

@test "an idempotency key: what was begun is not begun again, neither at once nor after a crash" {
	local i pids=()
	make_tables work.sql
	for i in 1 2 3 4; do
		DLOCK_FENCE=$i start at-most-once invoice-2026-11-4711 sh -c 'echo sent >>mail'
		pids+=("$STARTED")
	done
	wait_until 10s gone "${pids[@]}"
	assert_equal "$(<mail)" sent
	assert_equal "$(sql "SELECT id FROM work WHERE done")" invoice-2026-11-4711
	# A crash between: not done, and not begun again.
	DLOCK_FENCE=5 run -137 at-most-once invoice-2026-11-4712 sh -c 'kill -KILL $PPID'
	DLOCK_FENCE=6 at-most-once invoice-2026-11-4712 sh -c 'echo sent >>mail'
	assert_equal "$(<mail)" sent
	assert_equal "$(sql 'SELECT id, fence FROM work WHERE NOT done')" 'invoice-2026-11-4712|5'
	DLOCK_FENCE=7 at-most-once "it's; another" sh -c 'echo sent >>mail'
	assert_equal "$(grep -c sent mail)" 2
}

@test "--min-fence from the store: the next number exceeds the highest that it has taken" {
	make_tables fence.sql
	sql "SELECT raise_fence('nightly', 4711)"
	dlock --fence counter nightly true
	sed -n 's/^ *dlock --min-fence \(.*\) nightly \.\.\.$/dlock --fence counter --min-fence \1 nightly printenv DLOCK_FENCE/p' \
		"$PAGE" >example
	run sh example
	assert_output 4712
	sql "SELECT raise_fence('nightly', 4712)"
}
