#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The completions for bash, zsh and fish, in the shells themselves: bash and zsh on a terminal into
# which a line and two TABs are typed, fish by its own `complete -C`.

load helpers/common

COMPLETIONS=$ROOT_DIR/completions

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL
	mkdir bin home
	ln -s "$DLOCK" bin/dlock
	printf '#!/bin/sh\n' >bin/quuxcommand
	chmod +x bin/quuxcommand
	touch quuxfile
	export PATH=$WORK/bin:$PATH HOME=$WORK/home XDG_CONFIG_HOME=$WORK/home XDG_DATA_HOME=$WORK/home
}

# complete SHELL LINE: what the shell offers, one word a line; what it shows beside the words too.
complete() {
	case $1 in
	bash) offer=$COMPLETIONS/dlock.bash ;;
	zsh) offer=$COMPLETIONS/_dlock ;;
	fish)
		fish -c "source $COMPLETIONS/dlock.fish; complete -C '$2'"
		return
		;;
	esac
	# Without the lines on which it is typed.
	timeout 60 /usr/bin/python3 "$TESTS_DIR/helpers/complete.py" "$1" "$offer" "$2" | tail -n +2
}

words_of() {
	grep -v ready-42- | tr -s '\t ' '\n' | sort -u
}

# offered SHELL LINE: the words of it that are options.
offered_options() {
	complete "$1" "$2" | words_of | grep -E '^--?[A-Za-z]' | sort -u
}

help_options() {
	"$DLOCK" --help | grep -oE '(^|[[:space:],])-(-[a-z][a-z-]+|[A-Za-z])([[:space:],=]|$)' |
		grep -oE -- '-[-A-Za-z]+' | grep -vxE -- '-c|--command' | sort -u
}

@test "every shell offers exactly the options of --help" {
	local shell
	help_options >wanted
	[ "$(wc -l <wanted)" -ge 40 ]
	for shell in bash zsh fish; do
		# shellcheck disable=SC2094 # a file that is called as its shell
		{
			offered_options "$shell" 'dlock -'
			offered_options "$shell" 'dlock --'
		} | sort -u >"$shell"
		diff wanted "$shell" || { echo "in $shell"; return 1; }
	done
}

@test "an option with a choice of words is completed with those of --help" {
	local shell option choice word count=0
	while read -r option choice; do
		for shell in bash zsh fish; do
			complete "$shell" "dlock $option " | words_of >"offered"
			for word in ${choice//|/ }; do
				grep -qx "$word" offered || { echo "$shell $option: no $word"; cat offered; return 1; }
			done
			count=$((count + 1))
		done
	done < <("$DLOCK" --help | grep -oE -- '--[a-z-]+ [a-z]+(\|[a-z]+)+')
	[ "$count" -ge 12 ]
}

@test "every shell completes a signal, a server, and the name of a file" {
	local shell
	for shell in bash zsh fish; do
		run complete "$shell" 'dlock --signal US'
		assert_output --partial USR1
		run complete "$shell" 'dlock --server '
		assert_output --partial unix:
		run complete "$shell" 'dlock --report ./quux'
		# Where there is but one the shell writes it into the line.
		[ "$shell" != fish ] || assert_output --partial quuxfile
	done
}

@test "after NAME every shell completes a command, and then what belongs to it" {
	local shell line
	touch quuxfile2
	for shell in bash zsh fish; do
		ln -sf quuxcommand bin/quuxcommand2
		for line in 'dlock L quuxc' 'dlock -n -w 5s L quuxc' 'dlock --ttl=3s -v L quuxc' \
			'dlock --on-lost kill L quuxc' 'dlock -E 3 -q L -- quuxc'; do
			run complete "$shell" "$line"
			assert_output --partial quuxcommand2 || { echo "$shell: $line"; return 1; }
		done
		run complete "$shell" 'dlock L quuxcommand quuxf'
		assert_output --partial quuxfile2 || return 1
	done
}

@test "after NAME every shell offers -c, and no option of dlock" {
	local shell
	for shell in bash zsh fish; do
		offered_options "$shell" 'dlock L -' >offered
		grep -qx -- '-c' offered
		grep -qx -- '--command' offered
		run grep -xE -- '-n|--ttl|--nonblock' offered
		assert_failure
	done
}

# fake_list JSON: a dlock in the PATH that, asked for --list --json, prints JSON and notes how it was asked.
fake_list() {
	rm bin/dlock
	printf '%s' "$1" >json
	cat >bin/dlock <<-END
		#!/bin/sh
		echo "\$*" >>$WORK/asked
		cat $WORK/json
	END
	chmod +x bin/dlock
}

@test "names of locks are completed on request alone, from the server of that line" {
	local shell line
	permit_keys 'other:*'
	redis SET lock:zebra:1 x PX 600000
	redis SET lock:zebra:22 x PX 600000 # the shell writes one that is alone into the line
	redis SET 'lock:zebra two' x PX 600000
	redis SET 'lock:zebra$(touch hit)' x PX 600000
	redis SET other:zebra3 x PX 600000
	redis SET other:zebra34 x PX 600000
	for shell in bash zsh fish; do
		unset DLOCK_COMPLETE_NAMES
		run complete "$shell" 'dlock --status zeb'
		refute_output --partial zebra || { echo "$shell, not asked for"; return 1; }
		export DLOCK_COMPLETE_NAMES=1
		for line in 'dlock zeb' 'dlock --status zeb' 'dlock --status L zeb' 'dlock --break zeb' \
			"dlock -S $URL_UNIX zeb" "dlock -S $URL_TCP --status zeb"; do
			run complete "$shell" "$line"
			assert_output --partial 'zebra:1' || { echo "$shell: $line"; return 1; }
			assert_output --partial 'zebra:22'
			refute_output --partial two || { echo "$shell: $line"; return 1; }
			refute_output --partial touch || { echo "$shell: $line"; return 1; }
		done
		run complete "$shell" 'dlock --prefix other: --status zeb'
		assert_output --partial 'zebra3' || { echo "$shell: --prefix"; return 1; }
		# A server that is not there costs little, and is not spoken of.
		run complete "$shell" 'dlock -S unix:///no/such/socket --status zeb'
		refute_output --partial 'dlock: ' || { echo "$shell: no server"; return 1; }
	done
	[ ! -e hit ]
}

@test "names with letters of any script and a # inside are offered as they are; what needs quotes is not" {
	local shell name
	export DLOCK_COMPLETE_NAMES=1 LC_ALL=C.UTF-8
	for name in zebra-übung zebra-日本 'zebra#1' 'zebra~1' $'zebra\u202ehidden' $'zebra\u00a0blank' '#zebra' "zebra'q"; do
		redis SET "lock:$name" x PX 600000
	done
	for shell in bash zsh fish; do
		run complete "$shell" 'dlock zeb'
		for name in zebra-übung zebra-日本 'zebra\\?#1'; do # zsh shows how it quotes it
			assert_output --regexp "$name" || { echo "$shell"; return 1; }
		done
		for name in zebra~ hidden blank '#zebra' 'zebra.*q'; do
			refute_output --regexp "$name" || { echo "$shell"; return 1; }
		done
	done
}

@test "how names are asked for: quietly, with a short limit, with the options that name the server" {
	local shell
	fake_list '[{"name":"zebra:1","key":"lock:zebra:1","holders":[{"label":"\"name\":\"wrong\""}]},{"name":"zebra:2"},{"name":"a b"}]'
	export DLOCK_COMPLETE_NAMES=1
	for shell in bash zsh fish; do
		rm -f asked
		run complete "$shell" 'dlock -n -S redis://db1:7 --prefix p: -w 3s --status zeb'
		assert_output --partial 'zebra:1' || { echo "$shell"; return 1; }
		refute_output --partial wrong
		run sort -u asked
		assert_output '--connect-timeout 500ms -S redis://db1:7 --prefix p: --list --json' || { echo "$shell"; return 1; }
	done
}

@test "after --status, --list, --break and --check no shell completes a command" {
	local shell action
	for shell in bash zsh fish; do
		for action in --status --list --break --check; do
			run complete "$shell" "dlock $action L quuxc"
			refute_output --partial quuxcommand || { echo "$shell $action"; return 1; }
		done
	done
}

@test "a URL with colons before NAME does not hide what follows it" {
	local shell
	ln -sf quuxcommand bin/quuxcommand2
	for shell in bash zsh fish; do
		run complete "$shell" 'dlock -S redis://db1:6379 L quuxc'
		assert_output --partial quuxcommand2 || { echo "$shell"; return 1; }
		run complete "$shell" 'dlock --server=redis://db1:6379 L quuxc'
		assert_output --partial quuxcommand2 || { echo "$shell"; return 1; }
	done
}
