#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 2: whatever is malformed (options, durations, numbers, URLs, names, config
# lines, the environment) gets one line that names it and says what would be right, the right status,
# and nothing is sent to a server. No line has a password in it: every one here is called hush.
#
# shellcheck disable=SC2016 # dollars that are meant to be bytes

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	CASES=0
	CONNECTED=$(connections)
}

# After every table: nobody has connected meanwhile but the one who asks. And it was a table.
teardown() {
	local now=0 status=0
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		common_teardown
		return
	fi
	now=$(connections)
	if [ "$now" -ne $((CONNECTED + 1)) ]; then
		echo "a server was connected to $((now - CONNECTED - 1)) times" >&2
		status=1
	fi
	[ "$CASES" -ge 4 ] || { echo "only $CASES cases" >&2; status=1; }
	common_teardown
	return "$status"
}

connections() {
	redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p'
}

# judge STATUS WORDS COMMAND...: it ends with STATUS, with nothing on stdout and one line on stderr
# that has WORDS (a regular expression) and nothing that it must not have.
judge() {
	local expected=$1 words=$2 status lines said
	shift 2
	CASES=$((CASES + 1))
	status=0
	timeout 5 "$@" >out 2>err || status=$?
	mapfile -t lines <err
	said=${lines[0]-}
	[ "$status" -eq "$expected" ] || fail "$(printf '%q ' "$@"): status $status: $(<out) $(<err)"
	[ ! -s out ] || fail "$(printf '%q ' "$@"): on stdout: $(<out)"
	[ "${#lines[@]}" -eq 1 ] || fail "$(printf '%q ' "$@"): not one line: $(<err)"
	[[ "$said" == 'dlock: '* ]] || fail "$(printf '%q ' "$@"): $said"
	[[ "$said" =~ $words ]] || fail "$(printf '%q ' "$@"): not /$words/ in: $said"
	[[ "$said" != *hush* ]] || fail "$(printf '%q ' "$@"): a password: $said"
	[[ "$said" != *[[:cntrl:]]* ]] || fail "$(printf '%q ' "$@"): unescaped: $said"
	[ "${#said}" -le 600 ] || fail "$(printf '%q ' "$@"): ${#said} bytes: $said"
	[ ! -e ran ] || fail "$(printf '%q ' "$@"): COMMAND was run"
}

# bad WORDS ARG...: a usage error.
bad() {
	judge 64 "$1" "$DLOCK" "${@:2}"
}

# bad_env WORDS NAME=VALUE...: an error of configuration.
bad_env() {
	judge 78 "$1" env "${@:2}" "$DLOCK" job touch ran
}

# bad_line WORDS LINE: the same in a config file; WORDS come behind its name and the number of the line.
bad_line() {
	printf '# this file is wrong\n%s\n' "$2" >conf
	judge 78 "^dlock: conf:2: $1" "$DLOCK" --config conf job touch ran
}

# options_with ARGUMENT: the main name of each option that --help shows with it.
options_with() {
	"$DLOCK" --help | sed -nE "s/^ +(-.,)? *--([a-z][a-z-]*)(, --[a-z-]+)* $1 .*/\2/p" | grep -vx command
}

DURATION='a number with an optional unit ms, s, m, h or d, such as 250ms or 1.5m'

@test "the proof of this file is one: a run that is right does connect" {
	local now
	run -0 dlock job true
	now=$(connections)
	[ "$now" -gt $((CONNECTED + 1)) ] || fail "$CONNECTED, then $now"
	CONNECTED=$now CASES=4
}

@test "durations" {
	local value
	for value in '' ' 1' '1 ' -1 +1 -0 1e3 1E3 inf nan infinity 0x10 1x 1,5 . s ms .s 1.5.5 1..5 1ss \
		'1 s' 1w 1y 1S 1M 1us 1min 1m30s 1_000 soon -- --help $'1\n' $'\e[31m1' $'\xff' '*' '$x'; do
		bad "--wait: not a duration: '.*' \\($DURATION\\)" --wait "$value" job touch ran
	done
	for value in 99999999999999999999 300000000d 9223372037; do
		bad "--wait: too long a duration: '$value' \\(at most 292 years\\)" -w "$value" job touch ran
	done
	bad "--wait: not a duration: 'x{64}' " -w "$(printf 'x%.0s' {1..5000})" job touch ran
}

@test "durations, of every option that takes one, in every place" {
	local option
	run options_with DUR
	assert_line wait
	assert_line at-least
	[ "${#lines[@]}" -ge 5 ]
	for option in "${lines[@]}"; do
		bad "--$option: not a duration: 'soon' \\($DURATION\\)" "--$option" soon job touch ran
		bad "--$option: not a duration: ''" "--$option=" job touch ran
		bad "--$option: not a duration: '-1'" "--$option" -1 job touch ran
		bad "--$option: too long a duration" "--$option" 999999999999d job touch ran
		bad "--$option needs an argument: DUR" "--$option"
		bad_line "$option: not a duration: 'soon' \\($DURATION\\)" "$option = soon"
		bad_line "$option: not a duration: ''" "$option ="
		bad_line "$option: it needs a value: $option = DUR" "$option"
		bad_line "$option: not a duration: 'yes'" "$option = yes"
	done
}

@test "durations that are none for what they are for" {
	local value
	for value in 0 0.5 999ms .999999999; do
		bad "--ttl: not a TTL from 1s to 30d: '$value' is too short" -t "$value" job touch ran
		bad_env "DLOCK_TTL in the environment: not a TTL from 1s to 30d" DLOCK_TTL="$value"
		bad_line "ttl: not a TTL from 1s to 30d" "ttl = $value"
	done
	for value in 31d 721h 2592000.000000001; do
		bad "--ttl: not a TTL from 1s to 30d: '$value' is longer" -t "$value" job touch ran
		bad_env "DLOCK_TTL in the environment: not a TTL from 1s to 30d" DLOCK_TTL="$value"
	done
	bad "--at-least: longer than 30d: '31d'" --at-least 31d job touch ran
	bad "--connect-timeout: too short a time: '0' \\(at least 1ms\\)" --connect-timeout 0 job touch ran
	bad 'a grace of 2.0s .* in a TTL of 3.0s: at most' -t 3s -k 2s job touch ran
	bad 'a grace of 25.0s .* in a TTL of 30.0s: at most' -k 25s job touch ran
}

@test "numbers (P33)" {
	local value
	for value in 600 256 -1 '' x 1x 1.5 +1 ' 1' '1 ' 0x10 1e2 99999999999999999999 18446744073709551617; do
		bad "--conflict-exit-code: not a number from 0 to 255: '.*'" -n -E "$value" job touch ran
	done
	for value in 9007199254740992 -1 x '' 1.5 18446744073709551617; do
		bad "--min-fence: not a number from 0 to 9007199254740991: '$value'" --min-fence "$value" job touch ran
		bad_line "min-fence: not a number from 0 to 9007199254740991: '$value'" "min-fence = $value"
	done
	bad_line "conflict-exit-code: not a number from 0 to 255: '600'" 'conflict-exit-code = 600'
	bad "--conflict-exit-code needs an argument: N" -E
}

@test "choices and signals" {
	local value
	for value in ignore '' KILL kil 'kill,signal' k; do
		bad "--on-lost: neither 'kill' nor 'signal': '$value'" --on-lost "$value" job touch ran
		bad_line "on-lost: neither 'kill' nor 'signal': '$value'" "on-lost = $value"
	done
	for value in redis '' Clock clocks; do
		bad "--fence: neither 'clock' nor 'counter': '$value'" --fence "$value" job touch ran
	done
	for value in '' 0 65 999 -1 SIG NOSUCH RTMIN+99 RTMIN+ RTMAX+0 RTMAX-99 '15 ' 1.5; do
		bad "--signal: not a signal: '.*' \\(a name such as TERM or SIGINT, or a number from 1 to 64\\)" \
			--signal "$value" job touch ran
	done
	bad "--signal: not a signal: 'TREM' \\(did you mean TERM\\?\\)" --signal TREM job touch ran
	bad "--signal: not a signal: 'SIGUSR' \\(did you mean USR1\\?\\)" --signal SIGUSR job touch ran
	bad_line "signal: not a signal: 'HUPP' \\(did you mean HUP\\?\\)" 'signal = HUPP'
	bad "--label: a label has at most 255 bytes, not 256" --label "$(printf 'x%.0s' {1..256})" job touch ran
	bad_env "DLOCK_LABEL in the environment: a label has at most 255" DLOCK_LABEL="$(printf 'x%.0s' {1..256})"
}

# One line a URL: what is said of it, a tab, the URL.
URLS='no scheme in front of the server URL, as in redis://localhost:6379 or unix:///	localhost
no scheme .*redis://localhost:6379	db1:6379
no scheme .*redis://localhost:6379	/run/redis.sock
no scheme .*redis://localhost:6379	ann:hush@db1
no scheme .*redis://localhost:6379	//db1
slashes are missing behind unix: .* unix:///path/to.sock	unix:/run/redis.sock
slashes are missing behind redis: .* redis://localhost:6379	redis:db1
slashes are missing behind redis:	redis:/ann:hush@db1
absolute, with three slashes: unix:///path/to.sock	unix://run/redis.sock
absolute	unix://
a unix:// URL has no user or password: .*--password-file	unix://ann:hush@/run/redis.sock
a unix:// URL has no user	unix://:hush@run/redis.sock
path in the server URL is too long .at most 107 bytes	unix:///aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
has no TLS .*schemes: redis://, unix://	rediss://127.0.0.1:PORT
has no TLS	rediss://ann:hush@127.0.0.1:PORT/0
not in this version of dlock .schemes: redis://, unix://	redis+sentinel://127.0.0.1:PORT/main
not in this version of dlock .schemes: redis://, unix://	rediss+sentinel://:hush@127.0.0.1:PORT/main
not in this version of dlock .schemes: redis://, unix://	redis+cluster://127.0.0.1:PORT
not in this version of dlock .schemes: redis://, unix://	rediss+cluster://127.0.0.1:PORT
not in this version of dlock .schemes: redis://, unix://	postgres://ann:hush@127.0.0.1:PORT/app
not in this version of dlock .schemes: redis://, unix://	postgresql:///app
named by redis:// too .schemes: redis://, unix://	valkey://127.0.0.1:PORT
named by unix:///path/to.sock .schemes	redis+socket:///run/r
unknown scheme .http. .*schemes: redis://, unix://	http://127.0.0.1:PORT/
unknown scheme .REDIS. .*schemes: redis://, unix://	REDIS://127.0.0.1:PORT/
unknown scheme	memcached://ann:hush@127.0.0.1:PORT/
no host .*redis://localhost:6379	redis://
no host .*redis://localhost:6379	redis://ann:hush@
no host	redis://:PORT/0
no host	redis://[]
no closing . after the IPv6 address	redis://[::1
only :port may follow	redis://[::1]PORT
in brackets: redis://.::1.:6379	redis://::1
in brackets	redis://fe80::1:6379
more than one host .*not in this version	redis://127.0.0.1:PORT,127.0.0.1:PORT
bad host .*redis://localhost:6379	redis://ann:hush@db1#hush
bad host	redis://<host>
bad host	redis://$HOST
bad host	redis://db%201
bad port .*from 1 to 65535, as in redis://localhost:6379/0	redis://127.0.0.1:99999
bad port	redis://127.0.0.1:0
bad port	redis://127.0.0.1:
bad port	redis://127.0.0.1:-1
bad port	redis://127.0.0.1:hush
bad port	redis://ann:hush@127.0.0.1:hush
bad db .*from 0 to 2147483647, as in redis://localhost:6379/0	redis://127.0.0.1:PORT/x
bad db	redis://127.0.0.1:PORT/-1
bad db	redis://127.0.0.1:PORT/0/1
bad db	redis://127.0.0.1:PORT/hush
bad db	redis://127.0.0.1:PORT?db=
bad db	unix:///run/r?db=x
bad percent-encoding in the password .*%HH	redis://ann:hush%4@127.0.0.1:PORT
bad percent-encoding in the password .*not %00	redis://ann:%00hush@127.0.0.1:PORT
bad percent-encoding in the user	redis://a%nn:hush@127.0.0.1:PORT
bad percent-encoding in the path	unix:///run/%zz
an @ after a / or . .*write / as %2F	redis://ann:hush/hush@127.0.0.1:PORT
an @ after a / or . .*as %3F	redis://ann:hush?hush@127.0.0.1:PORT
bad connect-timeout in the server URL: not a duration: .soon.	redis://127.0.0.1:PORT?connect-timeout=soon
bad connect-timeout .*at least 1ms	unix:///run/r?connect-timeout=0'

@test "server URLs, in every place" {
	local words url
	while IFS=$'\t' read -r words url; do
		url=${url//PORT/$REDIS_PORT}
		bad "--server: .*$words" -S "$url" job touch ran
		bad_env "DLOCK_SERVER in the environment: .*$words" DLOCK_SERVER="$url"
		bad_env "REDIS_URL in the environment: .*$words" DLOCK_SERVER= REDIS_URL="$url"
		bad_line "server: .*$words" "server = \"$url\""
	done <<<"$URLS"
	[ "$CASES" -ge 200 ]
}

@test "server URLs: what differs from place to place" {
	bad "--server: unknown key 'nosuchkey' in the server URL \\(there are: .*connect-timeout" \
		-S "$URL_TCP?nosuchkey=hush" job touch ran
	bad_env "DLOCK_SERVER in the environment: unknown key 'nosuchkey'" DLOCK_SERVER="$URL_TCP?nosuchkey=hush"
	bad_line "server: unknown key 'nosuchkey'" "server = $URL_TCP?nosuchkey=hush"
	bad '--server: .*no scheme' -S '' job touch ran
	bad_line 'server: no scheme' 'server ='
	bad '--server: more than one server: .*not in this version' -S "$URL_TCP" -S "$URL_TCP" job touch ran
	bad '--server: more than one server: .*not in this version' -S "$URL_TCP $URL_TCP" job touch ran
	bad_env 'DLOCK_SERVER in the environment: more than one server' DLOCK_SERVER="$URL_TCP $URL_TCP"
	bad_env 'REDIS_URL in the environment: more than one server' DLOCK_SERVER= REDIS_URL="$URL_TCP redis://:hush@db2"
	bad '--server: a blank in the server URL: write %20 for it' -S "$URL_TCP " job touch ran
	bad_env 'a blank in the server URL: write %20 for it' DLOCK_SERVER=$'redis://db1\n'
	bad_env 'no server named: give -S redis://localhost:6379, or set DLOCK_SERVER' -u DLOCK_SERVER -u REDIS_URL
	bad_env 'no server named' DLOCK_SERVER= REDIS_URL=
}

@test "options: unknown, mistyped, ambiguous, with a value they do not take or without one they need" {
	bad "unknown option '--frobnicate' \\(dlock --help lists them\\)" --frobnicate job touch ran
	bad "unknown option '--frobnicate' " --frobnicate=hush job touch ran
	bad "unknown option '-Z' \\(dlock --help" -Z job touch ran
	bad "unknown option '-Z' " -nZ job touch ran
	bad "unknown option '-9' " -9 job touch ran
	bad 'unknown option' $'-\e' job touch ran
	bad 'unknown option' $'--\e[31m' job touch ran
	bad 'unknown option' $'-\xff' job touch ran
	bad 'unknown option' "--$(printf 'x%.0s' {1..5000})" job touch ran
	bad "unknown option '--nonblok': did you mean --nonblock\\?" --nonblok job touch ran
	bad "unknown option '--kill-aftr': did you mean --kill-after\\?" --kill-aftr=3s job touch ran
	bad "unknown option '--redis' " --redis://:hush@db1 job touch ran
	bad "ambiguous option '--con': one of --conflict-exit-code, .*--connect-timeout, .*--config" --con 3 job touch ran
	bad '--nonblock takes no value' --nonblock=3 job touch ran
	bad '--quiet takes no value' --quiet=yes job touch ran
	bad '--verbose takes no value' --verb=hush job touch ran
	bad '--ttl needs an argument: DUR' --ttl
	bad '--server needs an argument: URL' -nS
	bad '--config: no file named .*/dev/null' --config '' job touch ran
}

@test "options of redis-cli(1) are told where the server is named" {
	local option
	for option in -p --port --host --user; do
		bad "unknown option '$option': the server, its port and the user are those of -S redis://" "$option" 6379 job touch ran
	done
	for option in -a --pass --askpass; do
		bad "unknown option '$option': the password is that of --password-file" "$option" hush job touch ran
	done
	bad "-u is flock's: .*the server is named by -S" -u "$URL_TCP" job touch ran
}

@test "options that come with later versions" {
	local option
	for option in --shared --slots --max-waiters --status --list --break --check --tls --cacert --cacertdir \
		--cert --key --sni --insecure --watch --wait-replicas --quarantine --json --force --token; do
		bad "$option is not in this version of dlock" "$option" job touch ran
		bad "$option is not in this version of dlock" "$option=hush" job touch ran
		bad_line "${option#--} is not in this version of dlock" "${option#--} = hush"
	done
	bad '-s \(--shared\) is not in this version of dlock' -s job touch ran
	bad '-s \(--shared\) is not in this version of dlock' -ns job touch ran
}

@test "flock(1) forms that cannot be had" {
	bad "no COMMAND after NAME '9' \\(a descriptor cannot be locked" 9
	bad "a descriptor cannot be locked" -n 200
	bad "-F is flock's: dlock must stay" -F job touch ran
	bad "-F is flock's" --no-fork job touch ran
	bad "-F is flock's" -nF job touch ran
	bad "-u is flock's: .*gives the lock back when COMMAND ends" -u job
	bad "-u is flock's" --unlock 9
}

@test "NAME and COMMAND" {
	local name
	bad 'no NAME and no COMMAND: dlock .OPTION.* NAME COMMAND'
	bad 'no NAME and no COMMAND' -n
	bad 'no NAME and no COMMAND' --
	bad "no COMMAND after NAME 'job': dlock .OPTION.* NAME COMMAND" job
	bad 'no COMMAND after NAME and --' job --
	bad 'no COMMAND after NAME .a\\x1b.31m\\x07\\x0ab\\xff.' $'a\e[31m\a\nb\xff'
	bad 'no COMMAND after NAME' "$(printf 'x%.0s' {1..5000})"
	bad 'NAME must have 1 to 512 bytes, not 0' '' touch ran
	bad 'NAME must have 1 to 512 bytes, not 513' "$(printf 'x%.0s' {1..513})" touch ran
	for name in 'a{' 'a}' '{}' 'a{}b' '}{' $'\e{'; do
		bad 'are no hash tag: use none, or \{\.\.\.\} with something in it' "$name" touch ran
	done
	for name in 'job#fence{lock:job}' 'job#info{lock:job}' 'job#queue{lock:job}' 'job#members{lock:job}' \
		'job#rfence{lock:job}' 'a{t}#fence'; do
		bad 'keeps the data of another lock: choose another NAME' "$name" touch ran
	done
	bad '-c takes exactly one string: dlock NAME -c' job -c
	bad '-c takes exactly one string' job -c 'touch ran' x
	bad '-c takes its string as an argument of its own' job -c'touch ran'
	bad '-c takes its string as an argument of its own' job --command='touch ran'
	bad '-c comes after NAME' -c 'touch ran' job
	bad "'-n' after NAME: options go before NAME .*goes after --" job -n touch ran
	bad "'--ttl' after NAME: options go before NAME" job --ttl 3s touch ran
	bad "'--ttl' after NAME" job --ttl=hush touch ran
	bad "'--server' after NAME" job --server=redis://:hush@db1 touch ran
	bad "'-c' after --: leave out the --" job -- -c 'touch ran'
	bad "'--command' after --: leave out the --" job -- --command 'touch ran'
}

@test "a password that stands in the wrong place is not said" {
	local url=redis://ann:hush@127.0.0.1:$REDIS_PORT option
	for option in --wait --ttl --kill-after --conflict-exit-code --min-fence --signal --on-lost --fence; do
		bad "$option: .*redis://ann:\\*\\*\\*" "$option" "$url" job touch ran
		bad_line "${option#--}: .*redis://ann:\\*\\*\\*" "${option#--} = $url"
	done
	bad_env 'DLOCK_TTL in the environment' DLOCK_TTL="$url"
	bad_env "cannot read the config file" DLOCK_CONFIG=/no/such/file
	bad 'unknown option' --url="$url" job touch ran
	bad 'unknown option' -a hush job touch ran
	bad 'unknown option' -ahush job touch ran
	# A file of another kind, that was taken for a config file.
	bad_line 'a line is: option = value' 'hush'
	bad_line 'a line is: option = value' 'hush hush'
	bad_line 'a line is: option = value' 'Hush9/x='
	bad_line 'a line is: option = value' 'db1:6379:0:ann:hush'
	bad_line 'a line is: option = value' "$url"
	bad_line "unknown option 'password': did you mean password-(file|command)" 'password = hush'
	bad_line 'a # in the value' 'server = redis://:hu#hush@db1'
	bad_line 'no closing' 'label = "hush'
	bad_line "nonblock: neither 'yes' nor 'no'" 'nonblock = hush'
}

@test "lines of the config file" {
	bad_line 'a line is: option = value' 'ttl 5s'
	bad_line 'a line is: option = value' '= 5s'
	bad_line 'a config file has no .sections.' '[server]'
	bad_line 'no closing " at the end of the value' 'label = "x'
	bad_line 'a backslash in quotes that is not before " or \\: write \\\\ for one' 'label = "a\n"'
	bad_line 'something after the closing "' 'label = "a" b'
	bad_line 'a # in the value: put the value in double quotes' 'label = a#b'
	bad_line 'a byte 0x1b, which no line of text has: not a config file\?' $'label = \e[31m'
	bad_line 'a byte 0x0d' $'label = a\rttl = 5s'
	bad_line 'a line of 5000 bytes: 4096 is the most' "$(printf 'x%.0s' {1..5000})"
	bad_line "unknown option 'nonblok': did you mean nonblock\\?" 'nonblok = yes'
	bad_line "unknown option 'frobnicate' \\(dlock --help lists them\\)" 'frobnicate = yes'
	bad_line 'an option stands here by its long name, without dashes: ttl' '--ttl = 5s'
	bad_line 'an option stands here by its long name, without dashes: ttl' 't = 5s'
	bad_line 'ttl: it needs a value: ttl = DUR' 'ttl'
	bad_line "nonblock: neither 'yes' nor 'no'" 'nonblock = 1'
	bad_line 'config: it belongs on the command line' 'config = other.conf'
	bad_line 'help: it belongs on the command line' 'help'
	bad_line 'version: it belongs on the command line' 'version = yes'
	bad_line 'command: it belongs on the command line' 'command = touch ran'
	printf 'ttl = 5s\0\n' >conf
	judge 78 'conf:1: a byte 0x00' "$DLOCK" --config conf job touch ran
	printf '\xff\xfet\0t\0l\0' >conf
	judge 78 'conf:1: a byte 0x00' "$DLOCK" --config conf job touch ran
	head -c 4000 "$DLOCK" >conf
	judge 78 'conf:1: a byte 0x7f, .*not a config file\?' "$DLOCK" --config conf job touch ran
	printf 'ttl = 5s\nttl = 6s' >conf
	judge 78 'conf:2: ttl: line 1 has set it already' "$DLOCK" --config conf job touch ran
	printf 'wait = 5s\nnonblock' >conf
	judge 78 'conf:2: nonblock: wait in line 1 sets the same' "$DLOCK" --config conf job touch ran
}

@test "config files that cannot be read" {
	mkfifo pipe
	mkdir directory
	judge 78 "cannot read the config file 'missing': No such file" "$DLOCK" --config missing job touch ran
	judge 78 "cannot read the config file 'directory': a directory" "$DLOCK" --config directory job touch ran
	judge 78 "cannot read the config file 'pipe': a pipe" "$DLOCK" --config pipe job touch ran
	judge 78 "cannot read the config file '/dev/zero': more than 65536" "$DLOCK" --config /dev/zero job touch ran
	judge 78 'cannot read the config file .x\\x1b' "$DLOCK" --config $'x\e' job touch ran
	judge 78 'cannot read the config file .xxxx.*File name too long' "$DLOCK" \
		--config "$(printf 'x%.0s' {1..3000})" job touch ran
}

@test "the environment" {
	local value
	for value in ' 1' -1 1e3 soon 1y $'\e' "$(printf '9%.0s' {1..3000})"; do
		bad_env 'DLOCK_TTL in the environment: (not a duration|too long)' DLOCK_TTL="$value"
	done
	bad_env 'DLOCK_PREFIX in the environment: a prefix has at most 512 bytes, not 513' \
		DLOCK_PREFIX="$(printf 'x%.0s' {1..513})"
	bad '--prefix: a prefix has at most 512 bytes, not 600' --prefix "$(printf 'x%.0s' {1..600})" job touch ran
	bad_line 'prefix: a prefix has at most 512' "prefix = $(printf 'x%.0s' {1..600})"
	bad_env 'are no hash tag' DLOCK_PREFIX='{'
	bad_env "cannot read the config file 'missing' \\(DLOCK_CONFIG\\): No such file" DLOCK_CONFIG=missing
}
