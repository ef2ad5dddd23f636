-- Of two sockets of one rider the one with the higher claim counts, in whatever relays they are.
CREATE SEQUENCE relay.claims AS bigint;
