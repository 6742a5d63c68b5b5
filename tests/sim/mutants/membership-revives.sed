# src/store/lua/renew_member.lua
# A membership whose time is over is renewed.
s/ or math.floor(score) < now_ms//
