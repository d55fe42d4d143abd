//! Secure aggregation: the server learns the sum of the updates and no single one.
//!
//! K. Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS
//! 2017, figure 4 without its optional signatures: clients and server follow the protocol and are
//! curious. <https://eprint.iacr.org/2017/281>
//!
//! | exchange | direction | payload | bytes |
//! |---|---|---|---|
//! | `keys` | uplink | two public keys | 64 |
//! | `roster` | downlink | for each client that sent keys: its id and its keys | 68 × n |
//! | `shares` | uplink, then downlink | for each other client of the roster: its id, and two sealed shares | 96 × n |
//! | `masked_update` | uplink | weights, then samples, in fixed point, masked, as `u64` | 8 × (n_params + 1) |
//! | `withdrawal` | uplink | position and bits of the number that cannot be sent | 8 |
//! | `survivors` | downlink | the ids of those whose masked updates came | 4 × n |
//! | `unmasking` | uplink | for each client that shared: its id and the share asked for | 36 × n |
//!
//! Client `u` sends `x_u + PRG(b_u) + Σ_{v > u} PRG(s_uv) − Σ_{v < u} PRG(s_uv)` modulo 2^64, where
//! `x_u` are its weights times its samples in fixed point, `s_uv` what the keys of `u` and `v`
//! agree on, and the sums go over all whose shares it holds. The pairwise masks cancel. Those of a
//! client that vanished are computed again from the shares of its secret key, and the masks
//! `PRG(b_u)` from those of `b_u`; of one client the server is given shares of one of the two only.
//!
//! The arithmetic is the protocol's: keys agree, shares are sealed and only a threshold of them
//! reconstructs. But it is done in a field of 2^61 − 1 elements, which keeps no secret from anybody
//! who wants to know it; sizes on the wire are those of X25519 keys, of shares of 256-bit secrets
//! and of AES-GCM. What is counted is the real protocol's, what is hidden is not.

mod field;
mod masking;
mod message;

pub(super) use message::{PublicKeys, Roster, Sealed, Unmasking};

pub(super) use field::Lagrange;
pub(super) use masking::{MAX_CLIENTS, RANGE, STEP, Secrets, SharesOf, fixed_point, mask, recover};
