//! Authentication: by SCRAM or an MD5 hash anywhere, in plain text only if nobody else can read it.

use super::{PostgresqlConnection, login_error};
use crate::postgresql::address::ServerAddress;
use crate::postgresql::message::{invalid_message, length, push_text};
use crate::postgresql::password;
use postgres_protocol::authentication::{md5_hash, sasl};
use std::ops::Range;
use trueput_engine::{Error, Result};

impl PostgresqlConnection {
    /// Answers a request for authentication.
    pub(super) fn authenticate(
        &mut self,
        address: &ServerAddress,
        body: Range<usize>,
    ) -> Result<()> {
        let body = self.received[body].to_vec();
        let kind = body
            .first_chunk()
            .map_or(-1, |kind| i32::from_be_bytes(*kind));
        let password = || {
            password::of(address)?.ok_or_else(|| {
                Error::engine(format!(
                    "{address} requires a password: set it in ~/.pgpass, in the environment \
                        variable PGPASSWORD, or as the option password_file=PATH"
                ))
            })
        };
        match kind {
            0 => Ok(()),
            3 if self.is_exposed => Err(Error::Unsupported(format!(
                "{address} asks for the password in plain text over a network, where others can \
                 read it: set scram-sha-256 instead of password in its pg_hba.conf, or connect to \
                 a socket or to 127.0.0.1, through an SSH tunnel where it is another machine"
            ))),
            3 => self.send_password(password()?.expose().as_bytes()),
            5 => {
                let salt = body.get(4..8).and_then(|salt| salt.try_into().ok());
                let salt = salt.ok_or_else(invalid_message)?;
                let hash = md5_hash(
                    address.user.as_bytes(),
                    password()?.expose().as_bytes(),
                    salt,
                );
                self.send_password(hash.as_bytes())
            }
            10 => self.authenticate_by_scram(address, &body[4..], password()?.expose().as_bytes()),
            _ => Err(Error::Unsupported(format!(
                "{address} requires an authentication method that trueput does not support \
                    (number {kind}): allow scram-sha-256 or md5 in its pg_hba.conf"
            ))),
        }
    }

    fn send_password(&mut self, password: &[u8]) -> Result<()> {
        self.message(b'p', |out| {
            out.extend_from_slice(password);
            out.push(0);
            Ok(())
        })?;
        self.flush()
    }

    fn authenticate_by_scram(
        &mut self,
        address: &ServerAddress,
        mechanisms: &[u8],
        password: &[u8],
    ) -> Result<()> {
        let known = mechanisms.split(|&byte| byte == 0);
        if !known
            .into_iter()
            .any(|name| name == sasl::SCRAM_SHA_256.as_bytes())
        {
            let text = format!("{address} offers no {}", sasl::SCRAM_SHA_256);
            return Err(Error::Unsupported(text));
        }
        let mut scram = sasl::ScramSha256::new(password, sasl::ChannelBinding::unsupported());
        let first = scram.message().to_vec();
        self.message(b'p', |out| {
            push_text(out, sasl::SCRAM_SHA_256)?;
            out.extend_from_slice(&length(first.len())?.to_be_bytes());
            out.extend_from_slice(&first);
            Ok(())
        })?;
        self.flush()?;
        let failed = |error: std::io::Error| Error::engine(format!("{address}: {error}"));
        let challenge = self.sasl(11, address)?;
        scram.update(&challenge).map_err(failed)?;
        let answer = scram.message().to_vec();
        self.message(b'p', |out| {
            out.extend_from_slice(&answer);
            Ok(())
        })?;
        self.flush()?;
        let last = self.sasl(12, address)?;
        scram.finish(&last).map_err(failed)
    }

    /// The server's next word of an authentication in several steps.
    fn sasl(&mut self, expected: i32, address: &ServerAddress) -> Result<Vec<u8>> {
        let (tag, body) = self.next()?;
        let body = &self.received[body];
        match (tag, body.split_first_chunk()) {
            (b'E', _) => Err(login_error(body, address)),
            (b'R', Some((kind, data))) if i32::from_be_bytes(*kind) == expected => {
                Ok(data.to_vec())
            }
            _ => Err(invalid_message()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use trueput_engine::credentials;

    /// Logs in at a peer that asks for the password in plain text and then lets anybody in. What
    /// came of it, and what the peer was sent after the beginning.
    fn log_in_where_plain_text_is_asked_for(is_exposed: bool) -> (Result<()>, Vec<u8>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let peer = std::thread::spawn(move || {
            let mut length = [0; 4];
            theirs.read_exact(&mut length).unwrap();
            let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
            theirs.read_exact(&mut rest).unwrap();
            theirs.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
            let mut sent = vec![0; 64];
            let count = theirs.read(&mut sent).unwrap();
            sent.truncate(count);
            // Where nothing but a farewell came, nobody hears it any more.
            let _ = theirs.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
            sent
        });
        let url = "postgres://me:hush@far-away/db";
        let address = ServerAddress::parse(&credentials::Address::of(url)).unwrap();
        let opened =
            PostgresqlConnection::over_stream(Stream::Unix(ours), is_exposed, &address, &[]);
        let outcome = opened.map(drop);
        (outcome, peer.join().unwrap())
    }

    #[test]
    fn a_password_is_not_sent_in_plain_text_over_a_network() {
        let (outcome, sent) = log_in_where_plain_text_is_asked_for(true);
        let reason = outcome.unwrap_err().to_string();
        assert!(
            reason.contains("plain text") && reason.contains("scram-sha-256"),
            "{reason}"
        );
        assert!(
            !reason.contains('\n') && !reason.contains("hush"),
            "{reason}"
        );
        let hush = |bytes: &[u8]| bytes.windows(4).any(|part| part == b"hush");
        assert!(!hush(&sent), "{sent:?}");

        let (outcome, sent) = log_in_where_plain_text_is_asked_for(false);
        assert_eq!(outcome, Ok(()));
        assert!(hush(&sent), "{sent:?}");
    }
}
