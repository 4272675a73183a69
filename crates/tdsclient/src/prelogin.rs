//! PRELOGIN: version and encryption, before the login ([MS-TDS] 2.2.6.5).

/// Options by their tokens.
mod option {
    pub(super) const VERSION: u8 = 0x00;
    pub(super) const ENCRYPTION: u8 = 0x01;
    pub(super) const INSTANCE: u8 = 0x02;
    pub(super) const THREAD: u8 = 0x03;
    pub(super) const MARS: u8 = 0x04;
    pub(super) const FEDERATED: u8 = 0x06;
    pub(super) const END: u8 = 0xff;
}

/// The encryption that a side wants or uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreloginEncryption {
    /// Only the login is encrypted.
    Off = 0x00,
    /// Everything is encrypted.
    On = 0x01,
    /// The side has no encryption.
    NotSupported = 0x02,
    /// Everything is encrypted, and the side requires this.
    Required = 0x03,
}

/// The client's message. `federated` says that a token of Microsoft Entra will log in.
pub(crate) fn request(encryption: PreloginEncryption, federated: bool) -> Vec<u8> {
    let options: [(u8, &[u8]); 6] = [
        // The client's version, which servers only log.
        (option::VERSION, &[0, 1, 0, 0, 0, 0]),
        (option::ENCRYPTION, &[encryption as u8]),
        (option::INSTANCE, &[0]),
        (option::THREAD, &[0, 0, 0, 0]),
        (option::MARS, &[0]),
        (option::FEDERATED, &[1]),
    ];
    let options = &options[..options.len() - usize::from(!federated)];
    let mut at = (5 * options.len() + 1) as u16;
    let (mut heads, mut data) = (Vec::new(), Vec::new());
    for (token, value) in options {
        heads.push(*token);
        heads.extend_from_slice(&at.to_be_bytes());
        heads.extend_from_slice(&(value.len() as u16).to_be_bytes());
        data.extend_from_slice(value);
        at += value.len() as u16;
    }
    heads.push(option::END);
    heads.extend_from_slice(&data);
    heads
}

/// The server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreloginAnswer {
    /// Major, minor and build number.
    pub(crate) version: (u8, u8, u16),
    /// The encryption that the server wants or uses.
    pub(crate) encryption: PreloginEncryption,
    /// It takes tokens of Microsoft Entra.
    pub(crate) takes_tokens: bool,
}

/// Reads the server's answer; `Err` says what is wrong.
pub(crate) fn answer(payload: &[u8]) -> Result<PreloginAnswer, String> {
    let mut version = None;
    let mut encryption = None;
    let mut takes_tokens = false;
    let mut at = 0;
    loop {
        let token = *payload
            .get(at)
            .ok_or("its PRELOGIN ends within the list of options")?;
        if token == option::END {
            break;
        }
        let head = payload
            .get(at + 1..at + 5)
            .ok_or("its PRELOGIN ends within an option")?;
        let start = usize::from(u16::from_be_bytes([head[0], head[1]]));
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let value = payload
            .get(start..start + length)
            .ok_or_else(|| format!("option {token} of its PRELOGIN is outside the message"))?;
        match (token, value) {
            (option::VERSION, [major, minor, high, low, ..]) => {
                version = Some((*major, *minor, u16::from_be_bytes([*high, *low])));
            }
            (option::ENCRYPTION, [wanted]) => {
                encryption = Some(match wanted {
                    0x00 => PreloginEncryption::Off,
                    0x01 => PreloginEncryption::On,
                    0x02 => PreloginEncryption::NotSupported,
                    0x03 => PreloginEncryption::Required,
                    other => return Err(format!("its PRELOGIN has the encryption 0x{other:02x}")),
                });
            }
            (option::FEDERATED, [is_required]) => takes_tokens = *is_required == 1,
            _ => {}
        }
        at += 5;
    }
    Ok(PreloginAnswer {
        version: version.ok_or("its PRELOGIN has no version")?,
        encryption: encryption.ok_or("its PRELOGIN says nothing of encryption")?,
        takes_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 4.2 of [MS-TDS] has this answer, without its packet header.
    const EXAMPLE: &[u8] = &[
        0x00, 0x00, 0x1a, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00, 0x01,
        0x03, 0x00, 0x22, 0x00, 0x00, 0x04, 0x00, 0x22, 0x00, 0x01, 0xff, 0x09, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x01, 0x00, 0x00,
    ];

    #[test]
    fn an_answer_of_the_specification_is_read() {
        assert_eq!(
            answer(EXAMPLE),
            Ok(PreloginAnswer {
                version: (9, 0, 0),
                encryption: PreloginEncryption::On,
                takes_tokens: false,
            })
        );
    }

    #[test]
    fn a_request_is_read_as_it_was_meant() {
        for wanted in [
            PreloginEncryption::Off,
            PreloginEncryption::On,
            PreloginEncryption::NotSupported,
            PreloginEncryption::Required,
        ] {
            for federated in [false, true] {
                let read = answer(&request(wanted, federated)).expect("read");
                assert_eq!((read.encryption, read.takes_tokens), (wanted, federated));
            }
        }
    }

    #[test]
    fn cut_or_wrong_bytes_are_an_error() {
        for end in 0..EXAMPLE.len() - 2 {
            assert!(answer(&EXAMPLE[..end]).is_err(), "{end}");
        }
        let mut wrong = EXAMPLE.to_vec();
        wrong[32] = 9;
        assert!(answer(&wrong).is_err_and(|said| said.contains("0x09")));
    }
}
