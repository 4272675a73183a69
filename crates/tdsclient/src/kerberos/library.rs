//! The system's GSSAPI library (RFC 2744), as MIT Kerberos has it.
//!
//! # Why it is sound
//!
//! The types are those of `gssapi/gssapi.h` on Linux: `OM_uint32` is `u32`, buffers are a length and a pointer, OIDs
//! are a length of 32 bits and a pointer, and names, contexts and credentials are opaque pointers. The library is never
//! unloaded, so its function pointers stay valid. Names and contexts belong to one [`Context`], which releases them
//! when it is dropped; bytes that the library allocates are copied and freed at once. A context may be used by any
//! thread, but by one at a time; `&mut self` ensures that.
#![expect(unsafe_code, reason = "functions of C, looked up by their names")]

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;

use super::{Negotiation, NegotiationFault, Step};

const LIBRARY: &str = "libgssapi_krb5.so.2";

type Opaque = *mut c_void;

/// `gss_buffer_desc`.
#[repr(C)]
struct Buffer {
    length: usize,
    value: Opaque,
}

impl Buffer {
    const EMPTY: Buffer = Buffer {
        length: 0,
        value: null_mut(),
    };

    /// The library only reads the bytes.
    fn of(bytes: &[u8]) -> Buffer {
        Buffer {
            length: bytes.len(),
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }
}

/// `gss_OID_desc`.
#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

impl Oid {
    fn of(bytes: &'static [u8]) -> Oid {
        Oid {
            length: bytes.len() as u32,
            elements: bytes.as_ptr().cast(),
        }
    }
}

/// SPNEGO, 1.3.6.1.5.5.2 (RFC 4178), which [MS-TDS] 3.2.5.1 names.
const SPNEGO: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x02];
/// `GSS_KRB5_NT_PRINCIPAL_NAME`, 1.2.840.113554.1.2.2.1: the name is taken as it is written.
const PRINCIPAL_NAME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01];

/// The flags of mutual authentication, replay detection, sequence detection and integrity.
const FLAGS: u32 = 2 | 4 | 8 | 32;

/// `GSS_S_CONTINUE_NEEDED`.
const CONTINUE_NEEDED: u32 = 1;
/// The errors of a status, without its notes.
const ERRORS: u32 = 0xffff_0000;
/// `GSS_S_NO_CRED`, `GSS_S_DEFECTIVE_CREDENTIAL`, `GSS_S_CREDENTIALS_EXPIRED`.
const NO_TICKET: [u32; 3] = [7 << 16, 10 << 16, 11 << 16];
/// `GSS_C_GSS_CODE`: the status is one of GSSAPI.
const OF_GSSAPI: c_int = 1;
/// `GSS_C_MECH_CODE`: the status is one of Kerberos.
const OF_KERBEROS: c_int = 2;
/// The most texts of one status that are shown.
const TEXTS_MAX: usize = 4;

macro_rules! functions {
    ($($name:ident($($type:ty),*);)*) => {
        /// The functions that are called. Their names here lack the prefix `gss_`.
        struct Functions {
            $($name: unsafe extern "C" fn(*mut u32, $($type),*) -> u32,)*
            _library: ManuallyDrop<Library>,
        }

        impl Functions {
            fn find() -> Result<Functions, libloading::Error> {
                // SAFETY: the library may be loaded at any time; the types are the same as in its header.
                unsafe {
                    let library = ManuallyDrop::new(Library::new(LIBRARY)?);
                    Ok(Functions {
                        $($name: *library.get(concat!("gss_", stringify!($name)).as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    import_name(*const Buffer, *const Oid, *mut Opaque);
    release_name(*mut Opaque);
    init_sec_context(Opaque, *mut Opaque, Opaque, *const Oid, u32, u32, Opaque, *const Buffer, *mut Opaque, *mut Buffer, *mut u32, *mut u32);
    delete_sec_context(*mut Opaque, *mut Buffer);
    release_buffer(*mut Buffer);
    display_status(u32, c_int, *const Oid, *mut u32, *mut Buffer);
}

fn functions() -> Result<&'static Functions, NegotiationFault> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let found = FUNCTIONS.get_or_init(|| Functions::find().map_err(|error| error.to_string()));
    found.as_ref().map_err(|error| NegotiationFault::Refused {
        what: format!("the library of Kerberos cannot be loaded: {error}"),
        hint: "install MIT Kerberos: the package is libgssapi-krb5-2 (Debian, Ubuntu) or krb5-libs (Red Hat)".to_owned(),
    })
}

/// This side of a login with a server.
pub(crate) struct Context {
    functions: &'static Functions,
    service: String,
    name: Opaque,
    context: Opaque,
}

// SAFETY: see the head of this file.
unsafe impl Send for Context {}

impl Context {
    /// A login with the server that the realm knows by this name.
    pub(crate) fn new(service: &str) -> Result<Context, NegotiationFault> {
        let functions = functions()?;
        let mut context = Context {
            functions,
            service: service.to_owned(),
            name: null_mut(),
            context: null_mut(),
        };
        let mut minor = 0;
        let text = Buffer::of(service.as_bytes());
        let kind = Oid::of(PRINCIPAL_NAME);
        // SAFETY: the text and the OID live until the call returns, and the call copies them.
        let major = unsafe { (functions.import_name)(&mut minor, &text, &kind, &mut context.name) };
        match major & ERRORS {
            0 => Ok(context),
            _ => Err(context.fault(major, minor)),
        }
    }

    fn fault(&self, major: u32, minor: u32) -> NegotiationFault {
        let mut texts = self.texts(major, OF_GSSAPI);
        texts.extend(self.texts(minor, OF_KERBEROS));
        let hint = match NO_TICKET.contains(&(major & ERRORS)) {
            true => "get a ticket with kinit, or name a keytab of the user in KRB5_CLIENT_KTNAME; klist shows the tickets".to_owned(),
            false => format!(
                "does the realm know the server as {}? Write its full name in the URL, or server_spn=MSSQLSvc/NAME:PORT. klist shows \
                 your ticket, KRB5_TRACE=/dev/stderr each step",
                self.service
            ),
        };
        NegotiationFault::Refused {
            what: format!(
                "no Kerberos login for {}: {}",
                self.service,
                texts.join(": ")
            ),
            hint,
        }
    }

    /// What the library says about a status.
    fn texts(&self, status: u32, whose: c_int) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        let mut more = 0;
        for _ in 0..TEXTS_MAX {
            let (mut minor, mut text) = (0, Buffer::EMPTY);
            // SAFETY: a null OID stands for the default mechanism; the library writes a buffer and a number.
            let major = unsafe {
                (self.functions.display_status)(
                    &mut minor,
                    status,
                    whose,
                    null(),
                    &mut more,
                    &mut text,
                )
            };
            let text = String::from_utf8_lossy(&self.taken(text)).trim().to_owned();
            if major & ERRORS == 0 && !text.is_empty() && !texts.contains(&text) {
                texts.push(text);
            }
            if major & ERRORS != 0 || more == 0 {
                break;
            }
        }
        texts
    }

    /// Copies the bytes of a buffer that the library has allocated, and frees the buffer.
    fn taken(&self, mut buffer: Buffer) -> Vec<u8> {
        if buffer.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the library has written this number of bytes there.
        let bytes = unsafe {
            std::slice::from_raw_parts(buffer.value.cast::<u8>().cast_const(), buffer.length)
        };
        let bytes = bytes.to_vec();
        let mut minor = 0;
        // SAFETY: the library has allocated the buffer, which is not used after this.
        unsafe { (self.functions.release_buffer)(&mut minor, &mut buffer) };
        bytes
    }
}

impl Negotiation for Context {
    fn step(&mut self, received: &[u8]) -> Result<Step, NegotiationFault> {
        let input = Buffer::of(received);
        let mechanism = Oid::of(SPNEGO);
        let (mut minor, mut output) = (0, Buffer::EMPTY);
        // SAFETY: all pointers live until the call returns. Null stands for the default ticket, no bindings, and
        // results that are not needed.
        let major = unsafe {
            (self.functions.init_sec_context)(
                &mut minor,
                null_mut(),
                &mut self.context,
                self.name,
                &mechanism,
                FLAGS,
                0,
                null_mut(),
                &input,
                null_mut(),
                &mut output,
                null_mut(),
                null_mut(),
            )
        };
        let token = self.taken(output);
        match major & ERRORS {
            0 => Ok(Step {
                token,
                is_complete: major & CONTINUE_NEEDED == 0,
            }),
            _ => Err(self.fault(major, minor)),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: each of the two was made by the library or is null; the calls accept null. They are not used after
        // this.
        unsafe {
            (self.functions.delete_sec_context)(&mut minor, &mut self.context, null_mut());
            (self.functions.release_name)(&mut minor, &mut self.name);
        }
    }
}
