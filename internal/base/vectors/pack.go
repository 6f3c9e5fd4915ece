package vectors

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// What becomes of given vectors.
const (
	fitted  = 20_000 // words from which the principal components are computed
	dropped = 3      // components, the largest ones: they say how frequent a word is, not what it means
	// LeastGiven is how many numbers a given vector must have.
	LeastGiven = Dimensions + dropped
)

// Pack makes a table of words, the most frequent first, and of their vectors, which all have the same length, at least LeastGiven. It
// overwrites the vectors. Words without a direction are left out: words is how many there are.
func Pack(names []string, given [][]float64) (body []byte, words int) {
	rows := project(given)
	kept := 0
	for n, row := range rows {
		if row != nil {
			names[kept], rows[kept] = names[n], row
			kept++
		}
	}
	return encode(names[:kept], rows[:kept]), kept
}

// project subtracts the mean of the rows and returns their coordinates along some of their principal components, as unit vectors. The
// row of a word without a direction is nil.
func project(rows [][]float64) [][]float64 {
	if len(rows) == 0 {
		return nil
	}
	given := len(rows[0])
	mean := make([]float64, given)
	for _, row := range rows {
		for i, v := range row {
			mean[i] += v / float64(len(rows))
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] -= mean[i]
		}
	}
	covariance := make([][]float64, given)
	for i := range covariance {
		covariance[i] = make([]float64, given)
		for _, row := range rows[:min(fitted, len(rows))] {
			for j := range covariance[i] {
				covariance[i][j] += row[i] * row[j]
			}
		}
	}
	axes := eigenvectors(covariance)[dropped : dropped+Dimensions]
	projected := make([][]float64, len(rows))
	for i, row := range rows {
		p, length := make([]float64, len(axes)), 0.0
		for j, axis := range axes {
			for k := range row {
				p[j] += axis[k] * row[k]
			}
			length += p[j] * p[j]
		}
		if length < 1e-12 {
			continue
		}
		for j := range p {
			p[j] /= math.Sqrt(length)
		}
		projected[i] = p
	}
	return projected
}

// eigenvectors returns the eigenvectors of a symmetric matrix, those of the largest eigenvalues first, by Jacobi rotations. The
// largest entry of each is positive.
func eigenvectors(m [][]float64) [][]float64 {
	n := len(m)
	vectors := make([][]float64, n) // by row
	for i := range vectors {
		vectors[i] = make([]float64, n)
		vectors[i][i] = 1
	}
	for range 60 {
		rest := 0.0
		for p := range n {
			for q := p + 1; q < n; q++ {
				rest += m[p][q] * m[p][q]
				rotate(m, vectors, p, q)
			}
		}
		if rest < 1e-18 {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(m[b][b], m[a][a]) })
	sorted := make([][]float64, n)
	for i, at := range order {
		v := vectors[at]
		largest := slices.MaxFunc(v, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		if largest < 0 {
			for j := range v {
				v[j] = -v[j]
			}
		}
		sorted[i] = v
	}
	return sorted
}

// rotate makes m[p][q] zero.
func rotate(m, vectors [][]float64, p, q int) {
	if m[p][q] == 0 {
		return
	}
	theta := (m[q][q] - m[p][p]) / (2 * m[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range m {
		m[k][p], m[k][q] = c*m[k][p]-s*m[k][q], s*m[k][p]+c*m[k][q]
	}
	for k := range m {
		m[p][k], m[q][k] = c*m[p][k]-s*m[q][k], s*m[p][k]+c*m[q][k]
		vectors[p][k], vectors[q][k] = c*vectors[p][k]-s*vectors[q][k], s*vectors[p][k]+c*vectors[q][k]
	}
}

// encode writes the words, one per line, and then the rows in bytes: the largest entry of each row is 127 or -127.
func encode(words []string, rows [][]float64) []byte {
	var out bytes.Buffer
	for _, word := range words {
		out.WriteString(word)
		out.WriteByte('\n')
	}
	for _, row := range rows {
		most := 0.0
		for _, v := range row {
			most = max(most, math.Abs(v))
		}
		for _, v := range row {
			out.WriteByte(byte(int8(math.Round(v / most * 127))))
		}
	}
	return out.Bytes()
}
