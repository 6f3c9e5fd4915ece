package memory

import (
	"encoding/binary"

	"keepsake/internal/memory/embedding"
	"keepsake/internal/memory/seal"
)

// vectorData is the associated data of a memory's vector, so that it cannot be decrypted in the place of another one.
func vectorData(workspaceID string, generation int64, r *VectorRow) []byte {
	b := make([]byte, 0, len(workspaceID)+len(r.MemoryID)+len(r.Model)+64)
	b = append(append(append(b, "keepsake vector\x00"...), workspaceID...), 0)
	b = append(append(append(b, r.Subject[:]...), r.MemoryID...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Revision))
	return append(binary.BigEndian.AppendUint64(b, uint64(generation)), r.Model...)
}

// sealVector encrypts a vector. Without one it does nothing.
func sealVector(workspaceID string, generation int64, r *VectorRow, key *seal.DataKey, v embedding.Vector) error {
	if len(v) == 0 {
		return nil
	}
	by, err := key.With(r.OwnKey)
	if err != nil {
		return err
	}
	plain := make([]byte, len(v))
	for i, x := range v {
		plain[i] = byte(x)
	}
	r.Sealed = by.Seal(plain, vectorData(workspaceID, generation, r))
	return nil
}

// openVector decrypts a vector. It is nil if the endpoint refused the text, and if the row is not one that sealVector wrote: a
// recall then works as if the memory had no vector.
func openVector(workspaceID string, generation int64, r *VectorRow, key *seal.DataKey) embedding.Vector {
	if len(r.Sealed) == 0 {
		return nil
	}
	by, err := key.With(r.OwnKey)
	if err != nil {
		return nil
	}
	plain, err := by.Open(r.Sealed, vectorData(workspaceID, generation, r))
	if err != nil {
		return nil
	}
	v := make(embedding.Vector, len(plain))
	for i, x := range plain {
		v[i] = int8(x)
	}
	return v
}
