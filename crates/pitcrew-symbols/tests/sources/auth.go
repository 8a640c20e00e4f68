// Package auth checks tokens.
package auth

import (
	"context"
	tok "example.com/core/token"
	. "example.com/dots"
	_ "embed"
)

import "fmt"

// Lifetime says how long a token lives.
const Lifetime = 60

const (
	// Expired means too old.
	Expired Reason = iota
	forged
)

var ErrExpired, errForged = errors.New("expired"), errors.New("forged")

var (
	cache map[string]int
)

// Validator checks tokens.
type Validator[T any] struct {
	Key   string `json:"key"`
	cache map[string]T // grows
	*Base
	a, b int
}

type (
	// Reason says why.
	Reason int
	Alias = Validator[int]
)

// Store keeps tokens.
type Store interface {
	// Get gets one.
	Get(ctx context.Context, id string) (*Token, error)
	fmt.Stringer
	~int | ~string
}

type Handler func(ctx context.Context) error

// New makes one.
func New[T any](key string, opts ...Option) (*Validator[T], error) {
	helper := func() {}
	return nil, nil
}

// Validate checks a token.
func (v *Validator[T]) Validate(ctx context.Context, token string) error { return nil }
func (r Reason) String() string { return "" }
func private() {}

// Hinted is told to the compiler too.
//
//go:noinline
func Hinted() {}

//go:noinline
func undocumented() {} //nolint:unused
