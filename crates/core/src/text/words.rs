//! Enums of words.

/// An enum whose variants have a word each: `enum Mode as word { Hold => "hold", … }` also has `ALL`, its variants in
/// order, and `word()`.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident as $word:ident {
            $($(#[$about:meta])* $variant:ident $(= $number:literal)? => $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        $visible enum $name {
            $($(#[$about])* $variant $(= $number)?,)+
        }

        impl $name {
            /// All of them, in order.
            $visible const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The word for it.
            $visible const fn $word(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}
