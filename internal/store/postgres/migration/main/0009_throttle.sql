-- +goose Up

-- What the instances on one database count together of guessed passwords. Names are keyed hashes; what is in state is
-- not for SQL. An instance that is alone counts in memory and leaves the table empty.
CREATE TABLE login_guess (
    name  BYTEA  NOT NULL PRIMARY KEY,
    state BYTEA  NOT NULL,
    until BIGINT NOT NULL
);

CREATE INDEX login_guess_until ON login_guess (until);
