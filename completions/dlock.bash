# bash completion for dlock(1)                                            -*- shell-script -*-
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Needs no other package; with bash-completion the words of COMMAND are completed by COMMAND's own
# completion. shellcheck shell=bash

_dlock_options='-n --nonblock --nb -w --wait --timeout -E --conflict-exit-code -x -e --exclusive
	-t --ttl -k --kill-after --signal --on-lost --max-hold --descendants --at-least --reentrant
	--if-unreachable -S --server --prefix --fence --min-fence --connect-timeout --password-file
	--password-command --config --report --label --held -v --verbose -q --quiet -o --close
	-h --help -V --version'

# Does OPTION take the word after it?
_dlock_takes_word() {
	case $1 in
	--*=*) return 1 ;;
	--wait | --timeout | --conflict-exit-code | --ttl | --kill-after | --signal | --on-lost) ;;
	--max-hold | --descendants | --at-least | --if-unreachable | --server | --prefix) ;;
	--fence | --min-fence | --connect-timeout | --password-file | --password-command) ;;
	--config | --report | --label) ;;
	--*) return 1 ;;
	-*[wEtkS]) ;;
	*) return 1 ;;
	esac
}

# _dlock_values OPTION: the words that may follow it, in COMPREPLY.
_dlock_values() {
	local current=$2
	case $1 in
	--signal)
		mapfile -t COMPREPLY < <(compgen -W 'HUP INT QUIT TERM USR1 USR2 KILL' -- "$current")
		;;
	--on-lost) mapfile -t COMPREPLY < <(compgen -W 'kill signal' -- "$current") ;;
	--descendants) mapfile -t COMPREPLY < <(compgen -W 'leave wait kill' -- "$current") ;;
	--if-unreachable) mapfile -t COMPREPLY < <(compgen -W 'fail skip run' -- "$current") ;;
	--fence) mapfile -t COMPREPLY < <(compgen -W 'clock counter' -- "$current") ;;
	--password-command) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
	--password-file | --config | --report)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		;;
	-*S | --server)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -W 'redis:// unix://' -- "$current")
		;;
	esac
}

# _dlock_find_name: the index of NAME in COMP_WORDS, in REPLY; beyond the cursor: not there yet.
_dlock_find_name() {
	local i=1
	while ((i < COMP_CWORD)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			((i++))
			break
		fi
		[[ ${COMP_WORDS[i]} == -* ]] || break
		# readline breaks --option=value into three words.
		if [[ ${COMP_WORDS[i + 1]} == = ]]; then
			((i += 2))
		elif _dlock_takes_word "${COMP_WORDS[i]}"; then
			((i++))
		fi
		((i++))
	done
	REPLY=$i
}

# _dlock_command INDEX: COMMAND, at that index, and what belongs to it.
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
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} REPLY
	COMPREPLY=()
	_dlock_find_name
	if ((REPLY > COMP_CWORD)) || [[ $previous == = ]]; then
		# The argument of an option.
		if [[ $current == = ]]; then
			_dlock_values "$previous" ''
		elif [[ $previous == = ]]; then
			_dlock_values "${COMP_WORDS[COMP_CWORD - 2]}" "$current"
		else
			_dlock_values "$previous" "$current"
		fi
	elif ((REPLY == COMP_CWORD)); then
		[[ $current != -* ]] ||
			mapfile -t COMPREPLY < <(compgen -W "$_dlock_options" -- "$current")
	elif ((REPLY + 1 == COMP_CWORD)) && [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-c --command --' -- "$current")
	else
		((REPLY++))
		[[ ${COMP_WORDS[REPLY]} != -- ]] || ((REPLY++))
		_dlock_command "$REPLY" "$current"
	fi
}

complete -F _dlock dlock
