//! SQL text to the syntax tree of sqlparser, for conditions and for new values: in front of that parser, because it
//! recurses without a limit for some constructs (`INTERVAL INTERVAL ...`) and tries others again and again (`CAST(CAST(...`
//! took exponential time).
//!
//! What the evaluators take is a small part of SQL. Only the words of that part are keywords for the parser, all others
//! are names; a call of a function that nobody evaluates is refused before it is parsed. What is left is parsed in linear
//! time, with limits on length, number of operators and depth.

use std::{any::TypeId, thread};

use sqlparser::{
    ast::Expr,
    dialect::{Dialect, GenericDialect, Precedence},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, Tokenizer, TokenizerError},
};

use crate::{
    cancel,
    error::{Error, ErrorKind, Result, shorten},
};

/// Longest text, in bytes.
const MAX_LENGTH: usize = 4 << 20;
/// Texts of so many bytes take longer to take apart than a thread takes to start.
const LONG: usize = 1 << 18;
/// Operators make the tree deeper, AND and OR among them; more of them than this is a list that belongs into IN.
const MAX_OPERATORS: usize = 2_000;
/// How deep parentheses, functions, NOT and signs nest.
const MAX_DEPTH: usize = 50;

/// What one kind of expression takes beyond columns, literals and operators, and what its errors say.
pub(crate) struct Grammar {
    /// What the text is, as in "the condition cannot be read".
    pub what: &'static str,
    /// Hint for a text that cannot be read.
    pub example: &'static str,
    /// As in "the function F cannot be used in a condition".
    pub refusal: &'static str,
    /// Hint for what is refused.
    pub instead: &'static str,
    /// Hint for a text with too many operators.
    pub shorter: &'static str,
    /// Names of functions, in lower case.
    pub functions: &'static [&'static str],
    /// Whether `CAST('text' AS type)` is a literal.
    pub casts: bool,
    /// Whether `m['k']` is what a map has for a key.
    pub keys: bool,
    /// Whether `CASE WHEN ... THEN ... END` chooses between values.
    pub cases: bool,
}

/// The name that a column has in the tree: of what stands before the point, of its own name, and whether case counts
/// (it has quotes).
pub(crate) type Qualify<'a> = &'a dyn Fn(Option<&str>, &str, bool) -> Result<String>;

/// The tree of a whole text. `InvalidArgument` without context.
pub(crate) fn parse_expression(text: &str, grammar: &Grammar) -> Result<Expr> {
    parse_qualified(text, grammar, None)
}

/// [`parse_expression`], in which `t.a` is one column.
pub(crate) fn parse_qualified(text: &str, grammar: &Grammar, qualify: Option<Qualify<'_>>) -> Result<Expr> {
    let what = grammar.what;
    let unreadable =
        |e: &dyn std::fmt::Display| invalid(format!("the {what} cannot be read: {e}")).hint(grammar.example);
    if text.len() > MAX_LENGTH {
        return Err(invalid(format!("the {what} has {} bytes; at most {MAX_LENGTH} are read", text.len()))
            .hint(grammar.shorter));
    }
    let mut tokens = tokens_of(text)?.map_err(|e| unreadable(&e))?;
    tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
    if tokens.contains(&Token::DuckIntDiv) {
        return Err(invalid(format!("'//' {}", grammar.refusal)).hint(grammar.instead));
    }
    name_whole_division(&mut tokens);
    if operators(&tokens) > MAX_OPERATORS {
        return Err(invalid(format!("the {what} has more than {MAX_OPERATORS} operators")).hint(grammar.shorter));
    }
    if let Some(refused) = (0..tokens.len()).find_map(|at| refused(&tokens, at, grammar)) {
        return Err(invalid(format!("{refused} {}", grammar.refusal)).hint(grammar.instead));
    }
    let has_case = grammar.cases && has_case(&tokens);
    let is_word = |at: usize| is_keyword(&tokens, at, grammar) || (has_case && is_of_case(keyword(&tokens, at)));
    let names: Vec<bool> = (0..tokens.len()).map(|at| !is_word(at)).collect();
    for (token, _) in tokens.iter_mut().zip(&names).filter(|(_, name)| **name) {
        if let Token::Word(word) = token {
            word.keyword = Keyword::NoKeyword;
        }
    }
    if let Some(qualify) = qualify {
        tokens = qualified(&tokens, &names, grammar, qualify)?;
    }
    let mut parser = Parser::new(&Sql).with_recursion_limit(MAX_DEPTH).with_tokens(tokens);
    let parsed = parser.parse_expr();
    if parsed.is_err() {
        cancel::check()?;
    }
    let expr = parsed.map_err(|e| match e {
        ParserError::RecursionLimitExceeded => {
            invalid(format!("the {what} nests more than {MAX_DEPTH} levels deep")).hint(grammar.shorter)
        }
        e => unreadable(&e),
    })?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(unreadable(&format!("'{}' is not expected after the {what}", shorten(&rest.to_string()))));
    }
    Ok(expr)
}

/// The tokens of a text. Those of a long one are found by another thread: nobody can be asked between them, and whoever is to stop
/// does not wait for them.
fn tokens_of(text: &str) -> Result<std::result::Result<Vec<Token>, TokenizerError>> {
    if text.len() >= LONG {
        let (done, found) = crossbeam_channel::bounded(1);
        let own = text.to_owned();
        let work = move || drop(done.send(Tokenizer::new(&Sql, &own).tokenize()));
        if thread::Builder::new().name("siltstone-sql".to_owned()).spawn(work).is_ok()
            && let Some(tokens) = cancel::wait(&found)?
        {
            return Ok(tokens);
        }
    }
    Ok(Tokenizer::new(&Sql, text).tokenize())
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

/// The generic dialect, in which a NOT whose operand cannot be read is not tried again as the name of a function, and what stands
/// behind DISTINCT FROM ends at AND, OR and the like.
#[derive(Debug)]
struct Sql;

impl Dialect for Sql {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        keyword == Keyword::NOT || GenericDialect.is_reserved_for_identifier(keyword)
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<std::result::Result<Expr, ParserError>> {
        // why it ends is asked again
        cancel::check().err().map(|e| Err(ParserError::ParserError(e.to_string())))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        _precedence: u8,
    ) -> Option<std::result::Result<Expr, ParserError>> {
        use Keyword as K;
        // of a chain of operators nothing can be made, and copies of its left sides would take quadratic time
        if !is_operand(left) {
            return None;
        }
        let make = if parser.parse_keywords(&[K::IS, K::DISTINCT, K::FROM]) {
            Expr::IsDistinctFrom
        } else if parser.parse_keywords(&[K::IS, K::NOT, K::DISTINCT, K::FROM]) {
            Expr::IsNotDistinctFrom
        } else {
            return None;
        };
        let right = parser.parse_subexpr(self.prec_value(Precedence::Is));
        Some(right.map(|right| make(Box::new(left.clone()), Box::new(right))))
    }
}

/// The word DIV between two values becomes the operator that the parser has for it.
fn name_whole_division(tokens: &mut [Token]) {
    let mut after_value = false;
    for at in 0..tokens.len() {
        let is_div = matches!(tokens.get(at), Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("div"));
        let operator = is_div && after_value && tokens.get(at + 1).is_some_and(begins_value);
        if let (true, Some(token)) = (operator, tokens.get_mut(at)) {
            *token = Token::DuckIntDiv;
        }
        after_value = !operator && tokens.get(at).is_some_and(ends_value);
    }
}

fn begins_value(token: &Token) -> bool {
    matches!(token, Token::LParen | Token::Minus | Token::Plus) || is_value(token)
}

fn ends_value(token: &Token) -> bool {
    matches!(token, Token::RParen) || is_value(token)
}

/// A literal, a column, or a word before one.
fn is_value(token: &Token) -> bool {
    use Token as T;
    matches!(token, T::Number(..) | T::SingleQuotedString(_) | T::HexStringLiteral(_) | T::Word(_))
}

/// A column or a literal, perhaps in parentheses.
fn is_operand(expr: &Expr) -> bool {
    use Expr as E;
    match expr {
        E::Nested(inner) | E::UnaryOp { expr: inner, .. } => is_operand(inner),
        E::Identifier(_)
        | E::CompoundIdentifier(_)
        | E::CompoundFieldAccess { .. }
        | E::Value(_)
        | E::TypedString(_)
        | E::Cast { .. } => true,
        _ => false,
    }
}

/// The keyword of a word without quotes, `NoKeyword` for most.
fn keyword(tokens: &[Token], at: usize) -> Option<Keyword> {
    match tokens.get(at) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_structure(keyword: Keyword) -> bool {
    use Keyword as K;
    let values = matches!(keyword, K::NULL | K::TRUE | K::FALSE | K::UNKNOWN);
    values || may_open(keyword) || matches!(keyword, K::IS | K::DISTINCT | K::ESCAPE)
}

/// Whether a choice is written out: its words are names of columns where one of them is missing.
fn has_case(tokens: &[Token]) -> bool {
    let has = |wanted: Keyword| (0..tokens.len()).any(|at| keyword(tokens, at) == Some(wanted));
    has(Keyword::CASE) && has(Keyword::WHEN) && has(Keyword::THEN) && has(Keyword::END)
}

fn is_of_case(word: Option<Keyword>) -> bool {
    use Keyword as K;
    matches!(word, Some(K::CASE | K::WHEN | K::THEN | K::ELSE | K::END))
}

/// `t . a` as one word, and words alone as the column that they mean.
fn qualified(tokens: &[Token], names: &[bool], grammar: &Grammar, qualify: Qualify<'_>) -> Result<Vec<Token>> {
    let word = |at: usize| match tokens.get(at) {
        Some(Token::Word(word)) if word.quote_style.is_some() || names.get(at) == Some(&true) => Some(word),
        _ => None,
    };
    let opens = |at: usize| tokens.get(at) == Some(&Token::LParen);
    let mut made = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let is_function = |name: &str| opens(at + 1) && grammar.functions.contains(&name.to_ascii_lowercase().as_str());
        let Some(first) = word(at).filter(|first| !is_function(&first.value)) else {
            made.push(token.clone());
            at += 1;
            continue;
        };
        let second = (tokens.get(at + 1) == Some(&Token::Period)).then(|| word(at + 2)).flatten();
        let name = match second {
            Some(second) => qualify(Some(&first.value), &second.value, second.quote_style.is_some())?,
            None => qualify(None, &first.value, first.quote_style.is_some())?,
        };
        made.push(Token::make_word(&name, Some('"')));
        at += if second.is_some() { 3 } else { 1 };
    }
    Ok(made)
}

/// Words that stand before a parenthesis and are no functions.
fn may_open(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(keyword, K::AND | K::OR | K::NOT | K::IN | K::BETWEEN | K::LIKE | K::ILIKE | K::FROM)
}

/// Words of types, which make literals of texts; none of them has another type inside.
fn is_type(keyword: Keyword) -> bool {
    use Keyword as K;
    let times = matches!(
        keyword,
        K::DATE | K::TIME | K::TIMESTAMP | K::DATETIME | K::WITH | K::WITHOUT | K::LOCAL | K::ZONE | K::TIMESTAMP_NTZ
    );
    let numbers = matches!(
        keyword,
        K::TINYINT | K::SMALLINT | K::INT | K::INTEGER | K::BIGINT | K::FLOAT | K::REAL | K::DOUBLE | K::PRECISION
    );
    let others = matches!(
        keyword,
        K::DECIMAL | K::NUMERIC | K::DEC | K::CHAR | K::CHARACTER | K::VARYING | K::VARCHAR | K::STRING | K::TEXT
    );
    times || numbers || others || matches!(keyword, K::BOOL | K::BOOLEAN | K::BINARY | K::VARBINARY | K::BYTES)
}

fn is_keyword(tokens: &[Token], at: usize, grammar: &Grammar) -> bool {
    keyword(tokens, at).is_none_or(|word| {
        let of_cast = word == Keyword::AS && at.checked_sub(3).is_some_and(|cast| is_cast(tokens, cast, grammar));
        is_structure(word) || is_type(word) || of_cast || is_cast(tokens, at, grammar)
    })
}

/// `CAST('text' AS`
fn is_cast(tokens: &[Token], at: usize, grammar: &Grammar) -> bool {
    grammar.casts
        && matches!(keyword(tokens, at), Some(Keyword::CAST | Keyword::TRY_CAST | Keyword::SAFE_CAST))
        && tokens.get(at + 1) == Some(&Token::LParen)
        && matches!(tokens.get(at + 2), Some(Token::SingleQuotedString(_) | Token::NationalStringLiteral(_)))
        && keyword(tokens, at + 3) == Some(Keyword::AS)
}

/// What the token at this place begins, when the evaluators do not take it.
fn refused(tokens: &[Token], at: usize, grammar: &Grammar) -> Option<String> {
    let token = tokens.get(at)?;
    match token {
        // `CASE (a) WHEN`, `THEN (1)`
        Token::Word(_) if grammar.cases && is_of_case(keyword(tokens, at)) && has_case(tokens) => None,
        Token::Word(word) => {
            let keyword = keyword(tokens, at)?;
            if keyword == Keyword::SELECT {
                return Some("SELECT".to_owned());
            }
            let name = word.value.to_ascii_lowercase();
            let is_known = tokens.get(at + 1) != Some(&Token::LParen)
                || may_open(keyword)
                || grammar.functions.contains(&name.as_str())
                || is_type(keyword) && has_numbers(tokens, at + 2)
                || is_cast(tokens, at, grammar);
            (!is_known).then(|| format!("the function {}", shorten(&word.value)))
        }
        // nothing but one key stands behind a name, so that nothing nests here
        Token::LBracket if grammar.keys && key_end(tokens, at).is_some() => None,
        Token::RBracket
            if grammar.keys && (2..4).any(|n| at.checked_sub(n).and_then(|b| key_end(tokens, b)) == Some(at)) =>
        {
            (tokens.get(at + 1) == Some(&Token::Period)).then(|| "a field of a map's value".to_owned())
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::LParen
        | Token::RParen
        | Token::Comma
        | Token::Period
        | Token::SemiColon
        | Token::DoubleColon
        | Token::EOF => None,
        _ if is_comparison(token) || is_arithmetic(token) => None,
        other => Some(format!("'{}'", shorten(&other.to_string()))),
    }
}

/// Where the bracket closes that opens here, behind a name and around one literal.
fn key_end(tokens: &[Token], open: usize) -> Option<usize> {
    use Token as T;
    let is_opened = tokens.get(open) == Some(&T::LBracket);
    let is_named = open.checked_sub(1).is_some_and(|name| matches!(tokens.get(name), Some(T::Word(_))));
    let signed = usize::from(tokens.get(open + 1) == Some(&T::Minus));
    let key = tokens.get(open + 1 + signed)?;
    let is_number = matches!(key, T::Number(..));
    let is_text = matches!(key, T::SingleQuotedString(_) | T::NationalStringLiteral(_) | T::HexStringLiteral(_));
    let end = open + 2 + signed;
    let is_closed = tokens.get(end) == Some(&T::RBracket);
    (is_opened && is_named && is_closed && (is_number || is_text && signed == 0)).then_some(end)
}

fn is_comparison(token: &Token) -> bool {
    use Token as T;
    matches!(token, T::Eq | T::DoubleEq | T::Neq | T::Lt | T::LtEq | T::Gt | T::GtEq | T::Spaceship)
}

fn is_arithmetic(token: &Token) -> bool {
    use Token as T;
    matches!(token, T::Plus | T::Minus | T::Mul | T::Div | T::DuckIntDiv | T::Mod | T::StringConcat)
}

/// The parameters of a type: `10, 2)`.
fn has_numbers(tokens: &[Token], from: usize) -> bool {
    let mut inside = tokens.iter().skip(from).skip_while(|t| matches!(t, Token::Number(..) | Token::Comma));
    matches!(tokens.get(from), Some(Token::Number(..))) && inside.next() == Some(&Token::RParen)
}

/// What makes the tree deeper, as far as the parser does not limit it itself: a sign before a number does not.
fn operators(tokens: &[Token]) -> usize {
    let (mut found, mut after_value) = (0, false);
    for token in tokens {
        let sign = matches!(token, Token::Minus | Token::Plus) && !after_value;
        found += usize::from(is_operator(token) && !sign);
        after_value = matches!(
            token,
            Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::HexStringLiteral(_)
                | Token::Word(_)
                | Token::RParen
        );
    }
    found
}

fn is_operator(token: &Token) -> bool {
    use Keyword as K;
    match token {
        Token::Word(word) => {
            word.quote_style.is_none()
                && matches!(word.keyword, K::AND | K::OR | K::IS | K::LIKE | K::ILIKE | K::BETWEEN | K::IN)
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::Comma
        | Token::LParen
        | Token::RParen
        | Token::EOF => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
