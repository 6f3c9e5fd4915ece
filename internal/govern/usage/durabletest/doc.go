// Package durabletest holds tests of usage on every database engine: what is recorded survives kills, lost connections and
// flushes with an unknown outcome, and is counted once.
//
// They are in a folder of their own because tests inside package usage would make every package between it and the engines
// compile once more.
package durabletest
