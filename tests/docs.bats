#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What README.md, man/dlock.1 and --help say is so. Examples are taken from the documents as they
# stand and run against a private Redis; the programs that they name (make-report, ...) are stubs
# that note under which lock they ran.
#
# shellcheck disable=SC2016 # dollars that the other shell expands

load helpers/common

README=$ROOT_DIR/README.md
MAN=$ROOT_DIR/man/dlock.1

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
	mkdir "$WORK/bin"
	ln -s "$DLOCK" "$WORK/bin/dlock"
	for name in backup-database bill-customers deploy-site dump-database make-report; do
		cat >"$WORK/bin/$name" <<-'END'
			#!/bin/sh
			echo "${0##*/} under $DLOCK_NAME $DLOCK_FENCE" >>"$RUNS"
		END
		chmod +x "$WORK/bin/$name"
	done
	export PATH=$WORK/bin:$PATH RUNS=$WORK/runs
}

# --- options ---

# Every option that --help names, one a line.
help_options() {
	"$DLOCK" --help | grep -oE '(^|[[:space:],])-(-[a-z][a-z-]+|[A-Za-z])([[:space:],=]|$)' |
		grep -oE -- '-[-A-Za-z]+' | sort -u
}

# Every option that has an entry in the man page.
man_options() {
	grep '^\.It Fl ' "$MAN" | grep -oE 'Fl [-A-Za-z]+' | sed 's/^Fl /-/' | sort -u
}

@test "every option of --help is in the man page, and every one of the man page in --help" {
	run help_options
	assert_line -- '-n'
	assert_line -- '--nonblock'
	assert_line -- '--at-least'
	assert_line -- '-V'
	[ "${#lines[@]}" -ge 30 ]
	diff <(help_options) <(man_options)
}

@test "every option of the man page is taken by dlock" {
	local option status
	while read -r option; do
		# A flag runs `true`; an option with an argument takes NAME for it, and then complains about
		# the argument or about what is missing, never about the option.
		status=0
		"$DLOCK" "$option" 1 true >/dev/null 2>err || status=$?
		if [ "$status" != 0 ]; then
			! grep -iE 'unknown|unrecogni|invalid option' err || return 1
		fi
	done < <(man_options)
	run "$DLOCK" --no-such-option 1 true
	assert_failure 64
}

# What a file may not hold, of what a long option stands for in the table: the name of each.
options_of_no_file() {
	local option
	for option in $(man_options | grep -oE -- '^--[a-z-]+' | cut -c 3-) command; do
		echo "$option = 1" >conf
		status=0
		"$DLOCK" --config conf -n job true >/dev/null 2>err || status=$?
		[ "$status" != 78 ] || ! grep -q 'belongs on the command line' err || echo "--$option"
	done | sort -u
}

@test "the options that cannot stand in a file: example file, man page and dlock agree" {
	options_of_no_file >refused
	[ "$(wc -l <refused)" -ge 12 ]
	tr -d '\n#' <"$ROOT_DIR/examples/dlock.conf" | grep -oE 'Each long option but .* can stand here' |
		grep -oE -- '--[a-z-]+' | sort -u >of_example
	diff refused of_example
	grep -A 1 'of no use in a file' "$MAN" | tail -n 1 | grep -oE -- '-[a-z]+' | sed 's/^/-/' | sort -u >of_man
	diff refused of_man
}

@test "the exit statuses of the man page, README and exits.h are the same" {
	local of_man of_readme of_source
	of_man=$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh/p' "$MAN" | sed -n 's/^\.It \([0-9]*\)$/\1/p' | sort -n)
	of_readme=$(sed -n '/^## Exit status/,/^## Limits/p' "$README" | sed -n 's/^| \([0-9, ]*\) |.*/\1/p' |
		tr -s ', ' '\n' | sort -n)
	of_source=$(grep -oE '\b(6[4-9]|7[0-9]|12[4-7])\b' "$ROOT_DIR/src/exits.h" | sort -nu)
	[ "$(wc -w <<<"$of_man")" -ge 9 ]
	assert_equal "$of_readme" "$of_man"
	assert_equal "$of_source" "$of_man"
}

@test "--version, VERSION, and NEWS.md agree" {
	version=$(<"$ROOT_DIR/VERSION")
	run "$DLOCK" --version
	assert_success
	assert_line --index 0 "dlock $version"
	assert_line --index 1 --regexp '^platform: Linux, tier 1: .*descendants'
	grep -q "^## $version" "$ROOT_DIR/NEWS.md"
}

@test "the man page has no error" {
	mandoc -T lint -W warning "$MAN"
}

@test "every make target that a document names exists" {
	local target count=0
	while read -r target; do
		make -C "$ROOT_DIR" -n "$target" >/dev/null 2>err || { cat err; return 1; }
		count=$((count + 1))
	done < <(grep -ohE '(`|^    )make [a-z-]+' "$ROOT_DIR"/*.md | sed 's/.*make //' | sort -u)
	[ "$count" -ge 4 ]
}

@test "every file that a document links to or names exists" {
	local file count=0
	while read -r file; do
		[ -e "$ROOT_DIR/$file" ] || { echo "no $file"; return 1; }
		count=$((count + 1))
	done < <(
		cd "$ROOT_DIR" || exit
		grep -ohE '\]\([^)#]+' ./*.md | sed 's/^](//' | grep -v '://'
		grep -ohE '\b(src|tests|scripts|man|docs|debian|examples)/[A-Za-z0-9_/.-]*[A-Za-z0-9_]' ./*.md
	)
	[ "$count" -ge 10 ]
}

@test "README has at most 120 lines" {
	[ "$(wc -l <"$README")" -le 120 ]
}

# --- examples ---

# blocks LANGUAGE: writes each fenced block of README with that language to block.N.
blocks() {
	awk -v language="$1" '
		$0 == "```" language && !inside { inside = 1; n++; next }
		/^```/ { inside = 0; next }
		inside { print >("block." n) }
	' "$README"
}

# Runs FILE with sh, in it the private server in the place of the documents' one, and wants success
# and a program run under a lock with a fencing number for every line that starts with dlock. A line
# by which a script locks itself gets a program to run after it.
run_example() {
	local wanted
	sed -i "s|redis://db1.example.net|$DLOCK_SERVER|" "$1"
	rm -f "$RUNS"
	wanted=$(grep -c '^dlock' "$1" || true)
	if grep -q 'exec dlock' "$1"; then
		echo make-report >>"$1"
		wanted=$((wanted + 1))
	fi
	echo "--- example:"
	cat "$1"
	chmod +x "$1"
	BUILD_ID=7 timeout 20 sh -eu "./$1"
	[ "$wanted" = 0 ] || assert_equal "$(grep -cE 'under [a-z]+ [1-9][0-9]+$' "$RUNS")" "$wanted"
	redis FLUSHALL >/dev/null
}

# bridged_by FILE: "LEASE SURELY MOST" a line, as its table says.
bridged_by() {
	case $1 in
	*README*)
		awk -F ' *[|] *' '
			$2 == "TTL" { n = split($0, lease, / *[|] */) }
			/^[|] absence bridged/ { for (i = 3; i < n; i++) { split($i, s, /[ ;]+/); print lease[i], s[1], s[3] } }' "$1"
		;;
	*) sed -n 's/^\.It \([0-9]*[sm]\) Ta \([0-9]*\) s Ta \([0-9]*\) s$/\1 \2 \3/p' "$1" ;;
	esac
}

@test "what a lease bridges is what --check says, in README and man page" {
	local file lease sure most rows
	for file in "$ROOT_DIR/README.md" "$ROOT_DIR/man/dlock.1"; do
		rows=0
		while read -r lease sure most; do
			run dlock -t "$lease" --check --json
			[[ $output =~ \"outage_ms\":([0-9]+),\"outage_sure_ms\":([0-9]+), ]]
			assert_equal "$file $lease $((BASH_REMATCH[2] / 1000)) $((BASH_REMATCH[1] / 1000))" "$file $lease $sure $most"
			rows=$((rows + 1))
		done < <(bridged_by "$file")
		[ "$rows" -eq 5 ]
	done
}

@test "README: every block is of a kind that is tested" {
	run grep -E '^```.' "$README"
	for line in "${lines[@]}"; do
		case $line in
		'```sh' | '```console' | '```crontab' | '```text') ;;
		*) echo "unknown: $line"; return 1 ;;
		esac
	done
	# Text: the picture of the timeline, nothing to run.
	assert_equal "$(grep -c '^```text' "$README")" 1
}

@test "README: the shell examples run" {
	blocks sh
	[ "$(grep -c '^dlock\|exec dlock' block.1)" -ge 4 ]
	for block in block.*; do
		run_example "$block"
	done
}

@test "README: the crontab lines run" {
	blocks crontab
	sed -i -E 's/^([^ ]+ +){5}//' block.1
	run_example block.1
}

# What changes from run to run: numbers, who and where.
normalise() {
	sed -E -e 's/held by [^ ]+ pid/held by USER@HOST pid/' -e 's/[0-9]+(\.[0-9]+)?/N/g'
}

@test "README: the session at the top gives that output" {
	blocks console
	# Pasted by a reader, it finds the programs that every machine has.
	find "$WORK/bin" -type f -delete
	sed -i "s|redis://db1.example.net|$DLOCK_SERVER|" block.1
	{
		echo 'exec 2>&1'
		while IFS= read -r line; do
			case $line in
			'$ '*)
				printf "printf '%%s\\\\n' '%s'\n" "${line//\'/\'\\\'\'}"
				printf '%s\n' "${line#\$ }"
				# The reader types slower than a lock is taken.
				case $line in *'&') echo 'until redis-cli -s "$REDIS_SOCK" EXISTS lock:nightly | grep -q 1; do :; done' ;; esac
				;;
			esac
		done <block.1
		echo wait
	} >session
	timeout 20 sh session >output
	diff <(normalise <block.1) <(normalise <output)
}

# Writes each example of the man page to example.N: a line (.Dl) or a literal block.
man_examples() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh/p' "$MAN" | sed -e 's/\\(dq/"/g' -e 's/\\e/\\/g' -e 's/\\&//g' | awk '
		/^\.Dl / { sub(/^\.Dl /, ""); print >("example." ++n); next }
		/^\.Bd -literal/ { inside = 1; n++; next }
		/^\.Ed/ { inside = 0 }
		inside { print >("example." n) }
	'
}

@test "man page: what is shown of an example is what is written there" {
	local example line
	# Brackets and full stops are macros' own: one that stands alone would lose its blank.
	mandoc -T ascii -O width=200 "$MAN" | sed -e 's/.\x08//g' -e 's/^ *//' >shown
	man_examples
	for example in example.*; do
		while IFS= read -r line; do
			grep -qxF -- "${line#"${line%%[! ]*}"}" shown || { echo "not shown so: $line"; return 1; }
		done <"$example"
	done
}

@test "man page: the examples run" {
	local example
	man_examples
	[ -e example.10 ]
	for example in example.*; do
		run_example "$example"
	done
}
