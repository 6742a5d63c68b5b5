# bash completion for dlock(1)                                            -*- shell-script -*-
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Needs no other package; with bash-completion the words of COMMAND are completed by COMMAND's own
# completion. The names of locks are completed with DLOCK_COMPLETE_NAMES=1 alone: it asks the server.
# shellcheck shell=bash

_dlock_options='-n --nonblock --nb -w --wait --timeout -E --conflict-exit-code -x -e --exclusive
	-s --shared --slots --max-waiters -t --ttl -k --kill-after --signal --on-lost --max-hold
	--descendants --at-least --reentrant --if-unreachable -S --server --prefix --fence --min-fence
	--wait-replicas --quarantine --connect-timeout --tls --cacert --cacertdir --cert --key --sni --insecure --password-file
	--password-command --config --watch --report --label --held
	--status --list --break --check --json --force --token -v --verbose -q --quiet -o --close
	-h --help -V --version'

# Does OPTION take the word after it?
_dlock_takes_word() {
	case $1 in
	--*=*) return 1 ;;
	--wait | --timeout | --conflict-exit-code | --ttl | --kill-after | --signal | --on-lost) ;;
	--slots | --max-waiters | --token | --connect-timeout | --quarantine | --password-file) ;;
	--cacert | --cacertdir | --cert | --key | --sni) ;;
	--max-hold | --descendants | --at-least | --if-unreachable | --server | --prefix) ;;
	--fence | --min-fence | --wait-replicas | --password-command | --config | --report | --label) ;;
	--*) return 1 ;;
	-*[wEtkS]) ;;
	*) return 1 ;;
	esac
}

# _dlock_values OPTION BEGINNING: the words that may follow it, in COMPREPLY.
_dlock_values() {
	local current=$2
	case $1 in
	--signal)
		mapfile -t COMPREPLY < <(compgen -W 'HUP INT QUIT TERM USR1 USR2 KILL' -- "$current")
		;;
	--on-lost) mapfile -t COMPREPLY < <(compgen -W 'kill signal' -- "$current") ;;
	--descendants) mapfile -t COMPREPLY < <(compgen -W 'leave wait kill' -- "$current") ;;
	--if-unreachable) mapfile -t COMPREPLY < <(compgen -W 'fail skip run' -- "$current") ;;
	--wait-replicas) mapfile -t COMPREPLY < <(compgen -W 'auto' -- "$current") ;;
	--fence) mapfile -t COMPREPLY < <(compgen -W 'clock counter' -- "$current") ;;
	--password-command) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
	--password-file | --config | --report | --cacert | --cert | --key)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		;;
	--cacertdir)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		;;
	-*S | --server)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -W 'redis:// rediss:// unix:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster:// postgresql://' -- "$current")
		;;
	esac
	_dlock_cut "$current"
}

# _dlock_cut BEGINNING: readline breaks words at : and = too, and puts in what follows the last of them.
_dlock_cut() {
	local piece=${COMP_WORDS[COMP_CWORD]}
	[[ $piece != [:=] ]] || piece=
	COMPREPLY=("${COMPREPLY[@]#"${1%"$piece"}"}")
}

# The words up to the cursor as dlock will have them, in `words`; `at`: where each begins in COMP_WORDS.
_dlock_join_words() {
	local i line=$COMP_LINE
	words=() at=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if ((i > 0)) && [[ $line != [[:blank:]]* ]]; then
			words[-1]+=${COMP_WORDS[i]}
		else
			line=${line#"${line%%[![:blank:]]*}"}
			words+=("${COMP_WORDS[i]}")
			at+=("$i")
		fi
		line=${line#"${COMP_WORDS[i]}"}
	done
}

# The index of NAME in `words`, in REPLY; beyond the cursor: not there yet. What stands there instead
# of a run, in `report`.
_dlock_find_name() {
	local i=1
	while ((i < cursor)); do
		if [[ ${words[i]} == -- ]]; then
			((i++))
			break
		fi
		[[ ${words[i]} == -* ]] || break
		case ${words[i]} in --held | --status | --list | --break | --check) report=${words[i]} ;; esac
		! _dlock_takes_word "${words[i]}" || ((i++))
		((i++))
	done
	REPLY=$i
}

# _dlock_names BEGINNING: the names of locks on the server of this line, those that need no quotes.
_dlock_names() {
	local i name asked=()
	[[ ${DLOCK_COMPLETE_NAMES-} == 1 ]] || return
	for ((i = 1; i < cursor; i++)); do
		case ${words[i]} in
		-S | --server | --prefix | --config | --password-file | --cacert | --cacertdir | --cert | --key | --sni)
			asked+=("${words[i]}" "${words[++i]}")
			;;
		-S?* | --server=* | --prefix=* | --config=* | --password-file=*) asked+=("${words[i]}") ;;
		--tls | --insecure | --cacert=* | --cacertdir=* | --cert=* | --key=* | --sni=*)
			asked+=("${words[i]}")
			;;
		--) break ;;
		esac
	done
	while read -r name; do
		[[ $name != "$1"* ]] || COMPREPLY+=("$name")
	done < <(timeout 2 dlock --connect-timeout 500ms "${asked[@]}" --list --json 2>/dev/null </dev/null |
		grep -oE '"name":"[[:alnum:]_.:/@%+,=-][[:alnum:]_.:/@%+,=#-]*"' | cut -d '"' -f 4)
	_dlock_cut "$1"
}

# _dlock_command INDEX BEGINNING: COMMAND, at that index of COMP_WORDS, and what belongs to it.
_dlock_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		compopt -o default
	fi
}

_dlock() {
	local REPLY cursor current report='' words at
	COMPREPLY=()
	_dlock_join_words
	cursor=$((${#words[@]} - 1))
	current=${words[cursor]}
	_dlock_find_name
	if ((REPLY > cursor)); then
		_dlock_values "${words[cursor - 1]}" "$current"
	elif ((REPLY == cursor)) && [[ $current == --*=* ]]; then
		_dlock_values "${current%%=*}" "${current#*=}"
	elif ((REPLY == cursor)) && [[ $current == -* && ${words[cursor - 1]} != -- ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$_dlock_options" -- "$current")
	elif ((REPLY == cursor)) || [[ $report == --status ]]; then
		_dlock_names "$current"
	elif [[ -n $report ]]; then
		return
	elif ((REPLY + 1 == cursor)) && [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-c --command --' -- "$current")
	else
		((REPLY++))
		[[ ${words[REPLY]} != -- ]] || ((REPLY++))
		_dlock_command "${at[REPLY]-$((COMP_CWORD + 1))}" "$current"
	fi
}

complete -F _dlock dlock
