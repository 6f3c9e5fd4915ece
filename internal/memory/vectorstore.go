package memory

import "context"

// vectorStore stores the vectors of memories that an embeddings endpoint returned. The database removes the vector of a memory
// together with the memory.
type vectorStore interface {
	// MemoryVectors reads the vectors of a model that were written after a change of a subject, or all if after is negative. It
	// leaves out those of earlier revisions.
	MemoryVectors(ctx context.Context, workspaceID string, subject Hash, generation, after int64, model string) ([]*VectorRow, error)
	// PutMemoryVectors writes vectors of existing memories, or replaces them.
	PutMemoryVectors(ctx context.Context, workspaceID string, rows []*VectorRow) error
	// SetEmbedded records the change up to which the memories of a locked subject have vectors of a model.
	SetEmbedded(ctx context.Context, workspaceID string, subject Hash, change int64, model string) error
	// Embedded reads what SetEmbedded recorded: -1 if it was another model or nothing.
	Embedded(ctx context.Context, workspaceID string, subject Hash, model string) (change int64, err error)
	// SubjectsToEmbed reads at most limit subjects behind a hash, in the order of hashes, that were changed since SetEmbedded.
	SubjectsToEmbed(ctx context.Context, workspaceID, model string, after Hash, limit int) ([]Hash, error)
	// EmbeddingProgress counts the subjects of a workspace, and those that SubjectsToEmbed returns.
	EmbeddingProgress(ctx context.Context, workspaceID, model string) (EmbeddingProgress, error)
	// CountEmbedded lets grant decide on how many texts were sent on a day since 1970: by all workspaces, and by this one beyond
	// what is free. It adds what grant returns to both numbers, and returns the first of them. No other call comes in between.
	CountEmbedded(ctx context.Context, day int64, workspaceID string, grant func(texts, own int64) (granted, ownGranted int64)) (granted int64, err error)
	// EmbeddedOn reads the number of texts of a day.
	EmbeddedOn(ctx context.Context, day int64) (texts int64, err error)
}

// VectorRow is the vector of a revision of a memory.
type VectorRow struct {
	MemoryID string
	Subject  Hash
	Revision int64
	Change   int64  // the subject's change that wrote it
	Model    string // that made it
	Sealed   []byte // empty if the endpoint refused the text
	OwnKey   []byte // the memory's own key, which MemoryVectors reads
}

// EmbeddingProgress says how many subjects and memories wait for vectors. All memories of a subject wait until its last one has
// a vector.
type EmbeddingProgress struct {
	Subjects, Memories               int64
	WaitingSubjects, WaitingMemories int64
}
