// Package memory stores what applications and agents remember about subjects, ranks it for a question, and erases it.
//
// A memory is a short text about one subject. The database holds only ciphertext under the subject's data key, and finds
// rows by keyed hashes of names. An erasure of a subject destroys its data key and begins its next generation; rows of an
// older generation are never read.
//
// Read the package in this order:
//
//   - memory.go: what a memory is; validate.go: what it can contain.
//   - service.go: the parts of a Service and what they need; store.go: rows as the database holds them.
//   - access.go, accesslog.go, seal.go: what all parts use: the caller's access, the access log, encryption.
//   - writer.go: new memories. batchwriter.go loads their subjects and encrypts them, writeplan.go decides what to write,
//     commit.go writes it in one transaction. changer.go changes one memory.
//   - reader.go, subjectreader.go: single memories, lists, histories, subjects and the access log.
//   - recaller.go, context.go: ranking. indexer.go builds the index of a subject; indexcache.go keeps recent indexes.
//   - eraser.go, forgetter.go, subjecteraser.go, sweeper.go: erasing one memory, selected ones, a subject, expired ones.
//   - exporter.go, importer.go: a subject's memories with their history.
package memory
