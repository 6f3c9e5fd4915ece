// Package memory stores what applications and agents remember about subjects, ranks it for a question, and erases it.
//
// A memory is a short text about one subject. The database contains only ciphertext under the subject's data key, and finds
// rows by keyed hashes of names. An erasure of a subject destroys its data key and begins its next generation; rows of an
// older generation are never read.
//
// # Words
//
// A revision is what a memory contains after one write; the revisions before the current one are its older revisions or
// history. A generation numbers the data keys of a subject. A change numbers the writes and erasures of a subject, so that an
// index can read what it lacks. A natural key is the Key that a client gives a memory: the next memory with it replaces the
// first. A dedup key is equal for memories that are duplicates. A tombstone is the ID of an erased memory. An own key encrypts
// one memory together with the data key, so that overwriting it erases the memory from files. To seal is to encrypt.
//
// # A write
//
// A write has three steps. committer.load reads the generations of its subjects and gets their data keys, which can be a
// transaction of the database of keys. Then the memories are sealed. committer.commit locks the subjects in one transaction,
// adds the stored memories that matter to a writeSet, which decides, and writes what it decided. Writer, Changer and Importer
// all do this. If a subject was erased since load, commit fails with ErrStale, and retry begins again, with the next data key.
//
// # Files
//
// Read the package in this order:
//
//   - memory.go says what a memory is, validate.go what it can contain, dedup.go which memories are duplicates.
//   - service.go lists the parts of a Service, store.go the rows in the database.
//   - access.go, accesslog.go, seal.go and limits.go are what all parts use: what a caller can see, the access log,
//     encryption, and the limits of a workspace.
//   - commit.go loads subjects, for which generations.go caches their generations, and commits. writeset.go decides what to
//     write: pending.go contains the memories as they will be stored, and matcher.go adds those that are stored.
//   - writer.go creates memories, and prepared.go does the three steps. changer.go changes a memory.
//   - reader.go and subjectreader.go read memories, histories, subjects and the access log.
//   - recaller.go and context.go rank memories: indexer.go builds the index of a subject, indexcache.go caches it, and
//     tokens.go counts the tokens of a context.
//   - embedder.go sends queries to an embeddings endpoint, and backfiller.go memories; vector.go encrypts what comes back, and
//     vectorstore.go says how it is stored.
//   - eraser.go, forgetter.go, subjecteraser.go and sweeper.go erase a memory, selected ones, a subject, and expired ones.
//   - exporter.go and importer.go move a subject's memories with their history; importline.go validates a line, and
//     importset.go decides about it.
package memory
