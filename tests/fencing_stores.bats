#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# docs/fencing.md: S3, a file, Redis. PostgreSQL is in fencing.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031 # dollars that the other shell expands

load helpers/common
load helpers/page

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
	take_blocks
}

# --- S3 ---

# A stand-in for aws: objects are files below s3/, an ETag is a hash of the content, and of that which is
# handed out; a condition and the write are one step. BETWEEN is run once, after an object was read: what another does between.
make_aws() {
	cat >aws <<-'END'
		#!/bin/bash
		shift
		verb=$1
		shift
		while [ $# -gt 0 ]; do
			case $1 in
			--bucket) bucket=$2 ;;
			--key) key=$2 ;;
			--body) body=$2 ;;
			--if-match | --if-none-match) condition=$1 tag=$2 ;;
			--query | --output) ;;
			*) out=$1; shift; continue ;;
			esac
			shift 2
		done
		etag() { echo "\"$(md5sum <"$1" | cut -c 1-32)\""; }
		exec 8>>s3.lock
		flock 8
		case $verb in
		get-object)
			[ -e "s3/$bucket/$key" ] || { echo 'An error occurred (NoSuchKey) when calling the GetObject operation' >&2; exit 254; }
			cp "s3/$bucket/$key" "$out"
			exec 8>&-
			etag "$out"
			if [ -n "${BETWEEN:-}" ] && mkdir came.between 2>/dev/null; then eval "$BETWEEN"; fi
			;;
		put-object)
			case $condition in
			--if-match) [ "$(etag "s3/$bucket/$key" 2>/dev/null)" = "$tag" ] ;;
			--if-none-match) [ ! -e "s3/$bucket/$key" ] ;;
			*) false ;;
			esac || { echo 'An error occurred (PreconditionFailed) when calling the PutObject operation' >&2; exit 254; }
			cp "$body" "s3/$bucket/$key"
			;;
		esac
	END
	chmod +x aws
	mkdir -p s3/b
	echo text >text
}

@test "S3: the first write, higher, equal, lower; somebody between read and write" {
	make_aws
	DLOCK_FENCE=5 s3-put b report text
	assert_equal "$(paste -sd' ' s3/b/report)" 'fence 5 text'
	DLOCK_FENCE=5 s3-put b report text
	run -1 env DLOCK_FENCE=4 s3-put b report text
	assert_output 's3-put: number 5 has been here'
	# A higher number between: the condition fails, the next look says why.
	run -1 env DLOCK_FENCE=6 BETWEEN='DLOCK_FENCE=7 BETWEEN= s3-put b report text' s3-put b report text
	assert_output 's3-put: number 7 has been here'
	assert_equal "$(paste -sd' ' s3/b/report)" 'fence 7 text'
	# A lower one between: once more.
	rmdir came.between
	DLOCK_FENCE=9 BETWEEN='DLOCK_FENCE=8 BETWEEN= s3-put b report text' s3-put b report text
	assert_equal "$(paste -sd' ' s3/b/report)" 'fence 9 text'
	[ -d came.between ]
	# And two first writes.
	for i in 1 2 3 4; do
		DLOCK_FENCE=$i start s3-put b new text 2>/dev/null
		pids[i]=$STARTED
	done
	wait_until 10s gone "${pids[@]}"
	assert_equal "$(head -n 1 s3/b/new)" 'fence 4'
}

# --- a file ---

@test "a file: first, higher, equal, lower, through dlock" {
	dlock --fence counter nightly sh -c 'echo one | fenced-write report; echo "one more" | fenced-write report'
	assert_equal "$(<report)" 'one more'
	dlock --fence counter nightly sh -c 'echo two | fenced-write report'
	run -1 env DLOCK_FENCE=1 fenced-write report <<<late
	assert_output 'fenced-write: number 2 has been here'
	assert_equal "$(<report)" two
	DLOCK_FENCE=9223372036854775807 fenced-write report <<<last
	run -1 env DLOCK_FENCE=9223372036854775806 fenced-write report <<<late
	assert_equal "$(<report)" last
	run ls
	refute_output --partial .part
	mkdir -p 'a b'
	DLOCK_FENCE=3 fenced-write 'a b/c.d' <<<other
	assert_equal "$(<'a b/c.d')" other
}

@test "a file: many writers at once, and each killed somewhere: a version is whole, and no number falls" {
	local i seen last=0 pids=()
	for i in {1..20}; do
		printf "$i %.0s" {1..2000} >"text.$i"
	done
	DLOCK_FENCE=1 fenced-write report <text.1
	for i in {2..20}; do
		DLOCK_FENCE=$i start timeout -s KILL "0.0$((RANDOM % 9))" sh -c 'fenced-write report <"$0"' "text.$i"
		pids+=("$STARTED")
		DLOCK_FENCE=$i start sh -c 'fenced-write report <"$0"' "text.$i" 2>/dev/null
		pids+=("$STARTED")
		seen=$(tr -s ' ' '\n' <report | sort | uniq -c)
		[[ $seen =~ ^\ *2000\ [0-9]+$ ]] || fail "not whole: $seen"
		seen=${seen##* }
		((seen >= last)) || fail "$seen after $last"
		last=$seen
	done
	wait_until 20s gone "${pids[@]}"
	assert_equal "$(cut -d' ' -f1 report)" 20
}

# --- Redis ---

# set_fenced NUMBER VALUE
set_fenced() {
	redis --eval fenced-set.lua report:nightly , "$1" "$2"
}

@test "Redis: first, higher, equal, lower; numbers beyond 2^53 are told apart" {
	assert_equal "$(set_fenced 9 nine)" 1
	assert_equal "$(set_fenced 10 ten)" 1
	assert_equal "$(set_fenced 10 again)" 1
	assert_equal "$(set_fenced 9 late)" 0
	assert_equal "$(redis HMGET report:nightly fence value | paste -sd' ')" '10 again'
	assert_equal "$(set_fenced 9223372036854775806 x)" 1
	assert_equal "$(set_fenced 9223372036854775807 last)" 1
	assert_equal "$(set_fenced 9223372036854775806 late)" 0
	assert_equal "$(redis HGET report:nightly value)" last
	# As the page has it, through dlock.
	redis DEL report:nightly >/dev/null
	redis-cli() { command redis-cli -s "$REDIS_SOCK" "$@"; }
	export -f redis-cli
	sed -n 's/^    dlock nightly sh -c/dlock nightly bash -c/p' "$PAGE" >example
	run bash example
	assert_success
	assert_equal "$(redis HGET report:nightly value)" 'by web1'
	[ "$(redis HGET report:nightly fence)" -gt 1700000000000000 ]
}
