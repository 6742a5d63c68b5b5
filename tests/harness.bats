#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What the tests stand on: scripts/deps, which gets the tools, tests/run, which counts, scripts/lint.
#
# shellcheck disable=SC2016 # dollars that another shell expands

load helpers/common
load helpers/copies

setup() { copies_setup; }

# --- make deps ---

# A machine with the tools that any Debian has, with make and git, and with an apt-get that notes
# how it was called and "installs" programs by linking them. What is given as argument is there too.
fresh_machine() {
	local name
	mkdir bin
	for name in sh env cat grep sort tr id sed awk make git "$@"; do
		ln -s "$(command -v "$name")" bin/
	done
	cat >bin/apt-get <<-'END'
		#!/bin/sh
		PATH=$REAL_PATH
		echo "$*" >>"$APT_LOG"
		case " $* " in
		*" update "*) touch "$APT_LOG.updated" ;;
		*" install "*)
			[ -e "$APT_LOG.updated" ] || [ -z "$APT_STALE" ] || exit 100
			for name in gcc pkg-config redis-server redis-cli pgrep; do
				[ -e "$APT_BIN/$name" ] || ln -s "$(command -v $name)" "$APT_BIN/"
			done
			;;
		esac
	END
	cat >bin/apt-cache <<-'END'
		#!/bin/sh
		echo "  Candidate: ${APT_CANDIDATE:-1.0}"
	END
	rm bin/id
	printf '#!/bin/sh\necho "${FAKE_UID:-0}"\n' >bin/id
	chmod +x bin/*
	export APT_LOG=$WORK/apt.log APT_BIN=$WORK/bin REAL_PATH=$PATH APT_STALE=''
	touch "$APT_LOG"
}

# deps in that machine: /usr/sbin, which scripts/deps adds, is of no use to these sets.
fresh_deps() {
	run env PATH="$WORK/bin" "$@" sh "$ROOT_DIR/scripts/deps" ensure build demo
}

@test "deps: nothing is called when nothing is missing" {
	fresh_machine gcc pkg-config redis-server redis-cli pgrep
	fresh_deps
	assert_success
	assert_output ''
	assert_equal "$(<"$APT_LOG")" ''
}

@test "deps: DEPS=no installs nothing and names what is missing in one line" {
	fresh_machine gcc pkg-config pgrep
	fresh_deps DEPS=no
	assert_failure
	assert_equal "${#lines[@]}" 1
	assert_output --regexp 'DEPS=no: redis-server redis-tools *$'
	assert_equal "$(<"$APT_LOG")" ''
}

@test "deps: a machine without even gcc gets what is missing, said beforehand" {
	fresh_machine
	fresh_deps
	assert_success
	assert_line --index 0 --regexp '^deps: installing with apt-get: gcc libc6-dev libhiredis-dev libssl-dev pkg-config'
	assert_equal "$(grep -c install "$APT_LOG")" 1
	run grep -c update "$APT_LOG"
	assert_output 0
}

@test "deps: package lists that are not there, or are too old, are fetched" {
	fresh_machine
	fresh_deps APT_CANDIDATE='(none)'
	assert_success
	assert_regex "$(head -n 1 "$APT_LOG")" 'update'

	rm -rf bin "$APT_LOG"*
	fresh_machine
	fresh_deps APT_STALE=yes
	assert_success
	assert_equal "$(grep -oE ' (install|update)( |$)' "$APT_LOG" | tr -s '\n ' ' ')" ' install update install '
}

@test "deps: neither root nor sudo: one line" {
	fresh_machine gcc pkg-config pgrep
	fresh_deps FAKE_UID=1000
	assert_failure
	assert_equal "${#lines[@]}" 1
	assert_output --partial "run 'make deps' as root"
	assert_output --partial redis-server
	assert_equal "$(<"$APT_LOG")" ''
}

@test "deps: no apt-get: one line" {
	fresh_machine gcc pkg-config pgrep
	rm bin/apt-get
	fresh_deps
	assert_failure
	assert_equal "${#lines[@]}" 1
	assert_output --partial 'there is no apt-get'
	assert_output --partial redis-server
}

@test "deps: the fuzzer's runtime is of the clang that is there, and without clang nobody asks for it" {
	fresh_machine gcc
	mkdir runtime
	printf '#!/bin/sh\n[ "$1" = -dumpversion ] && echo 14.0.6 || echo "%s"\n' "$WORK/runtime" >bin/clang
	chmod +x bin/clang
	run env PATH="$WORK/bin" sh "$ROOT_DIR/scripts/deps" missing check
	assert_line libclang-rt-14-dev
	touch runtime/libclang_rt.fuzzer-x86_64.a
	run env PATH="$WORK/bin" sh "$ROOT_DIR/scripts/deps" missing check
	refute_output --partial clang-rt
	rm bin/clang runtime/*
	run env PATH="$WORK/bin" sh "$ROOT_DIR/scripts/deps" missing check
	assert_line clang
	refute_output --partial clang-rt
}

# --- tests/run and lint ---

# bats_file FILE 'NAME BODY'...: a line that starts with the word itself would be taken by bats as a
# case of the file that you read.
bats_file() {
	local file=$1 case
	shift
	for case; do
		printf '@%s "%s" {\n\t%s\n}\n' test "${case%% *}" "${case#* }"
	done >"$file"
}

# run_files NAME...: tests/run of a copy on these files. What bats starts to watch the time of a test may
# outlive one that ends at once, and is waited for: not for as long as the test here may take.
run_files() {
	mkdir -p tree/tests
	cp "$ROOT_DIR/tests/run" tree/tests/
	run env BATS_TEST_TIMEOUT=20 tree/tests/run "${@/#/$WORK/}"
}

@test "tests/run: counts what the files report, shows what failed, and fails" {
	bats_file good.bats 'one true' 'two true' 'three skip "no such thing here"'
	run_files good.bats
	assert_success
	assert_equal "${lines[-1]}" '2 passed, 0 failed, 1 skipped'
	assert_output --partial 'no such thing here'

	bats_file bad.bats 'four echo "what it said"; false' 'five true'
	run_files good.bats bad.bats
	assert_failure
	assert_equal "${lines[-1]}" '3 passed, 1 failed, 1 skipped'
	assert_output --partial 'what it said'
}

@test "tests/run: what tests/first.list names is started first, each file once" {
	mkdir -p tree/tests
	cp "$ROOT_DIR/tests/run" tree/tests/
	for name in a b c d; do
		bats_file "tree/tests/$name.bats" "$name true"
	done
	printf '%s\n' '# a comment' tests/c.bats tests/no-such.bats tests/b.bats >tree/tests/first.list
	run env JOBS=1 tree/tests/run bats
	assert_success
	assert_equal "$(sed -n 's/^ok .*\(.\)\.bats: 1 passed.*/\1/p' <<<"$output" | xargs)" 'c b a d'
	assert_equal "${lines[-1]}" '4 passed, 0 failed'
}

@test "tests/run: lint goes alone, fuzz beside what waits, one at a time, also with a single job" {
	mkdir -p tree/tests/fuzz tree/scripts
	cp "$ROOT_DIR/tests/run" tree/tests/
	touch tree/tests/fuzz/{one,two}_fuzz.c
	printf '#!/bin/sh\necho 1..1\necho "$2 begins" >>../said\nsleep 0.2\necho "$2 ends" >>../said\necho ok 1\n' >tree/scripts/fuzz
	printf '#!/bin/sh\necho 1..1\necho "lint begins" >>../said\necho ok 1\n' >tree/scripts/lint
	chmod +x tree/scripts/*
	bats_file tree/tests/wait.bats "wait for i in {1..500}; do grep -q 'two ends' '$WORK/said' && return; sleep 0.02; done; false"
	bats_file tree/tests/wait_too.bats 'too true'
	cd tree
	run env JOBS=1 tests/run lint fuzz bats
	assert_success
	assert_equal "${lines[-1]}" '5 passed, 0 failed'
	assert_equal "$(tr '\n' , <../said)" 'lint begins,one begins,one ends,two begins,two ends,'
	assert_equal "$(grep -c '^ok ' <<<"$output")" 5
}

@test "tests/run: DLOCK names the dlock that is tested, from where the caller is; ./dlock else" {
	bats_file which.bats 'which echo "it is $DLOCK"; false'
	printf '#!/bin/sh\n' >other
	chmod +x other
	mkdir sub
	unset DLOCK
	run_files which.bats
	assert_output --partial "it is $WORK/tree/dlock"
	for name in ./other other sub/../other "$WORK/other"; do
		DLOCK=$name run_files which.bats
		assert_output --partial "it is $WORK/other"
	done
	bats_file uses.bats 'uses run dlock; assert_success'
	sed -i "1i load '$ROOT_DIR/tests/helpers/common'" uses.bats
	DLOCK=other run_files uses.bats
	assert_success
	DLOCK=no-such-file run_files which.bats
	assert_failure
	assert_equal "${#lines[@]}" 1
	assert_output --partial "no program at DLOCK=$WORK/no-such-file"
	DLOCK=sub run_files which.bats
	assert_failure
	assert_output --partial "no program at DLOCK=$WORK/sub"
}

@test "make check DLOCK=FILE hands FILE down to tests/run" {
	copy_tree
	printf '#!/bin/sh\necho "tests/run with $DLOCK: $*"\n' >tests/run
	unset DLOCK
	run make check-bats DLOCK=../other 'make_built=:'
	assert_success
	assert_line 'tests/run with ../other: bats'
	run make check 'make_built=:'
	assert_success
	assert_line --regexp '^tests/run with : lint .* bats sanitized acl$'
}

@test "tests/run: who is not root is told that some tests will fail" {
	bats_file good.bats 'one true'
	run_files good.bats
	refute_output --partial 'not root here'
	mkdir bin
	printf '#!/bin/sh\necho 1000\n' >bin/id
	chmod +x bin/id
	PATH=$WORK/bin:$PATH run_files good.bats
	assert_success
	assert_output --partial 'not root here'
}

@test "tests/run: a file that breaks off, does not parse or has no test is a failure" {
	bats_file dies.bats 'one true' 'two kill -KILL $PPID; sleep 1' 'three true'
	run_files dies.bats
	assert_failure
	assert_regex "${lines[-1]}" '^[0-9] passed, [1-9] failed'

	bats_file broken.bats 'one if true'
	run_files broken.bats
	assert_failure
	assert_equal "${lines[-1]}" '0 passed, 1 failed'

	printf '# nothing\n' >empty.bats
	run_files empty.bats
	assert_failure
	assert_equal "${lines[-1]}" '0 passed, 1 failed'

	run_files
	assert_failure
	assert_equal "${lines[-1]}" '0 passed, 0 failed'
}

@test "tests/run: a unit test that crashes, or that exits 0 after a failed case, is a failure" {
	printf '#!/bin/sh\necho "ok 1 - one"\nkill -SEGV $$\n' >crash_test
	printf '#!/bin/sh\necho "ok 1 - one"\necho "not ok 2 - two"\n' >liar_test
	printf '#!/bin/sh\necho "ok 1 - one"\necho "1..2"\n' >short_test
	chmod +x ./*_test
	for name in crash liar short; do
		run_files "${name}_test"
		assert_failure
		assert_regex "${lines[-1]}" '^1 passed, [1-9] failed'
	done
}

@test "tests/run: a process that a file leaves running is ended, named, and a failure" {
	bats_file leaves.bats 'one sleep 4231 3>&- &'
	run_files leaves.bats
	assert_failure
	assert_output --partial 'sleep 4231'
	assert_equal "${lines[-1]}" '1 passed, 1 failed'
}

@test "tests/run: a report of a sanitizer is a failure" {
	printf '#!/bin/sh\nlog=${ASAN_OPTIONS#log_path=}\necho "heap-use-after-free" >"${log%%%%:*}.1"\necho "ok 1 - one"\n' >report_test
	chmod +x report_test
	run_files report_test
	assert_failure
	assert_output --partial heap-use-after-free
	assert_equal "${lines[-1]}" '1 passed, 1 failed'
}

@test "tests/run: a fuzz target that crashes, that tries next to nothing, or has no corpus is a failure, and its input is shown" {
	local kind wanted
	mkdir -p tree/tests/fuzz/corpus/x tree/scripts tree/build/fuzz
	cp "$ROOT_DIR/tests/run" tree/tests/
	cp "$ROOT_DIR/scripts/fuzz" tree/scripts/
	touch tree/tests/fuzz/x_fuzz.c
	# What libFuzzer prints, as far as it is read.
	cat >tree/build/fuzz/x_fuzz <<-'END'
		#!/bin/bash
		. "$WORK/behaviour"
		for word; do
			case $word in -artifact_prefix=*) prefix=${word#*=} ;; -max_total_time=*) time=${word#*=} ;; esac
		done
		if [ -n "$time" ] && [ "$kind" = crash ]; then
			printf 'bad input' >"${prefix}crash-1"
			echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1"
			exit 77
		fi
		[ -z "$time" ] || echo "Done ${runs:-0} runs in $time second(s)"
		[ -n "$time" ] || [ "$kind" != seed ] || { echo "Running: ${*: -1}"; exit 77; }
	END
	chmod +x tree/build/fuzz/x_fuzz
	echo 'kind=no-corpus' >behaviour
	run tree/tests/run fuzz
	assert_failure
	assert_equal "${lines[-1]}" '0 passed, 1 failed'

	export WORK
	printf 'bad seed' >tree/tests/fuzz/corpus/x/seed
	while read -r kind wanted; do
		echo "$kind" >behaviour
		run env FUZZ_SECONDS=1 tree/tests/run fuzz
		assert_failure
		assert_output --partial "$wanted"
		assert_equal "${lines[-1]}" '0 passed, 1 failed'
	done <<-'END'
		kind=crash >bad input<
		kind=seed >bad seed<
		runs=199 exit status 0, 199 runs
	END
	echo 'runs=200' >behaviour
	run env FUZZ_SECONDS=1 tree/tests/run fuzz
	assert_success
	assert_equal "${lines[-1]}" '1 passed, 0 failed'
	assert_equal "$(find tree/tests/fuzz -type f | wc -l)" 2
}

@test "lint: an include that points up, and hiredis outside of net/reader, are found" {
	mkdir -p tree/src/{base,net,store,lock,run,job,cli} tree/scripts
	cp "$ROOT_DIR/scripts/lint" tree/scripts/
	include() { echo "#include $2" >>"tree/src/$1"; }
	include base/a.c '"base/b.h"'
	include net/reader.c '<hiredis/hiredis.h>'
	include store/redis.c '"lock/store.h"'
	include store/redis.c '"lua_scripts.h"'
	include run/guard.c '"exits.h"'
	include job/keeper.c '"lock/lock.h"'
	include job/keeper.c '"run/tree.h"'
	include cli/options.c '"net/url.h"'
	include main.c '"cli/options.h"'
	run tree/scripts/lint includes
	assert_success

	include base/a.c '"net/link.h"'
	include store/redis.c '"lock/lock.h"'
	include store/redis.c '<hiredis/read.h>'
	include run/guard.c '"lock/lease.h"'
	include run/tree.c '"job/job.h"'
	include lock/lock.c '"exits.h"'
	include lock/lock.c '"../base/b.h"'
	run tree/scripts/lint includes
	assert_failure
	assert_equal "$(grep -c '^src/' <<<"$output")" 7
}
