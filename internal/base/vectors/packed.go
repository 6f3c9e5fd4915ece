package vectors

import "encoding/binary"

// A search multiplies one vector with those of all memories. Go has no instructions that multiply several small numbers at once, but
// a multiplication of 64 bits can do the work of four. It multiplies two polynomials in X = 2¹⁶ with four coefficients each:
//
//	(a₀ + a₁X + a₂X² + a₃X³) (b₃ + b₂X + b₁X² + b₀X³) = ... + (a₀b₀ + a₁b₁ + a₂b₂ + a₃b₃) X³ + ...
//
// Powers above X³ are beyond the 64 bits, so the upper 16 bits are the sum of four products, and eight multiplications are a whole
// product of 32 dimensions. Each coefficient of their sum is a product of parts of two vectors whose length is about One, so it is
// less than 2¹⁵ and fits into 16 bits, with its sign. The coefficients below X³ can be negative and then take 1 from the upper
// bits; adding half of X³ before the shift corrects that.
//
// Components are stored in 8 bits with 128 added, so that they need no sign when they are moved apart. What the 128 add to the
// product depends on the other vector only, and is subtracted in the end.

// Packed is a Vector in a form for fast products.
type Packed [Dimensions / 8]uint64

const (
	lower    = 0x00ff00ff00ff00ff // every second component
	offsets  = 0x0080008000800080 // the 128 of four components
	halfCube = 1 << 47            // half of X³
)

// Packed returns v in a form for fast products.
func (v *Vector) Packed() (p Packed) {
	for i := range p {
		var bytes [8]byte
		for j := range bytes {
			bytes[j] = byte(v[8*i+j]) ^ 128
		}
		p[i] = binary.LittleEndian.Uint64(bytes[:])
	}
	return p
}

// vector returns the Vector that p packs.
func (p *Packed) vector() *Vector {
	var v Vector
	for i := range v {
		v[i] = int8(byte(p[i/8]>>(8*(i%8))) ^ 128)
	}
	return &v
}

// Factor is a Vector that is multiplied with many others.
type Factor struct {
	even, odd [Dimensions / 8]uint64
	offset    uint64
}

// Factor returns v in a form for products with many others.
func (v *Vector) Factor() (f Factor) {
	for i := range f.even {
		for j := range 4 {
			f.even[i] += uint64(int64(v[8*i+2*j])) << (16 * (3 - j))
			f.odd[i] += uint64(int64(v[8*i+2*j+1])) << (16 * (3 - j))
		}
		f.offset += offsets * (f.even[i] + f.odd[i])
	}
	f.offset -= halfCube
	return f
}

// Dots sets dots to the products with each vector of a list, as the function Dot computes them.
func (f *Factor) Dots(list []Packed, dots []int32) {
	dots = dots[:len(list)]
	for i := range list {
		dots[i] = f.dot(&list[i])
	}
}

// dot returns the product with one vector.
func (f *Factor) dot(p *Packed) int32 {
	sum := (p[0]&lower)*f.even[0] + (p[0]>>8&lower)*f.odd[0]
	sum += (p[1]&lower)*f.even[1] + (p[1]>>8&lower)*f.odd[1]
	sum += (p[2]&lower)*f.even[2] + (p[2]>>8&lower)*f.odd[2]
	sum += (p[3]&lower)*f.even[3] + (p[3]>>8&lower)*f.odd[3]
	return int32(int64(sum-f.offset) >> 48)
}
