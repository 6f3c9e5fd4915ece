// Package outboxtest holds tests of webhooks over a real store: the service, the outbox, its delivery and the quotas that it
// reports.
//
// They are in a folder of their own because tests inside package event, which are about its schedule, would make every package
// between it and the store compile once more.
package outboxtest
