// Package memory stores what applications and agents remember about subjects, ranks it for a question, and erases it.
//
// A memory is a short text about one subject. The database contains only ciphertext under the subject's data key, and finds
// rows by keyed hashes of names. An erasure of a subject destroys its data key and begins its next generation; rows of an
// older generation are never read.
//
// Read the package in this order:
//
//   - memory.go says what a memory is, validate.go what it can contain.
//   - service.go lists the parts of a Service, store.go the rows in the database.
//   - access.go, accesslog.go, seal.go and limits.go are what all parts use: what a caller can see, the access log,
//     encryption, and the limits of a workspace.
//   - writer.go creates memories: batchwriter.go loads their subjects and encrypts them, matcher.go finds memories that they
//     replace or duplicate, writeplan.go decides what to write, and commit.go writes it in one transaction. changer.go
//     changes a memory.
//   - reader.go and subjectreader.go read memories, histories, subjects and the access log.
//   - recaller.go and context.go rank memories: indexer.go builds the index of a subject, indexcache.go caches it.
//   - eraser.go, forgetter.go, subjecteraser.go and sweeper.go erase a memory, selected ones, a subject, and expired ones.
//   - exporter.go and importer.go move a subject's memories with their history; importline.go validates a line, and
//     importplan.go decides about it.
package memory
