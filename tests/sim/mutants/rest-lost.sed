# src/store/lua/release.lua
# What --at-least keeps the lock for when COMMAND is over is lost: it is free at once.
s/rest = ARGV\[1\], tonumber(ARGV\[2\])/rest = ARGV[1], 0/
