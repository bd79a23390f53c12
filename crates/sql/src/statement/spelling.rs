//! Spellings of PostgreSQL that the parser does not know, put into those that it does.
//!
//! Only tokens are changed, each for one in the same place, so positions in errors stay right.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::cursor::MOVES;

/// Rewrites all statements of a text.
pub(crate) fn plain(tokens: &mut [TokenWithSpan]) {
    users_are_roles(tokens);
    options_are_plain(tokens);
    vacuum_is_plain(tokens);
    moves_are_fetches(tokens);
    options_are_in_order(tokens);
}

/// Makes USER mean ROLE in CREATE USER, ALTER USER and DROP USER, for which the parser has other
/// grammars than PostgreSQL's.
fn users_are_roles(tokens: &mut [TokenWithSpan]) {
    let mut words_before = Vec::new();
    for token in tokens {
        match &mut token.token {
            Token::Whitespace(_) => {}
            Token::SemiColon => words_before.clear(),
            Token::Word(word) => {
                let defines = [Keyword::CREATE, Keyword::ALTER, Keyword::DROP];
                if word.keyword == Keyword::USER
                    && matches!(&words_before[..], [first] if defines.contains(first))
                {
                    word.value = "ROLE".to_owned();
                    word.keyword = Keyword::ROLE;
                }
                words_before.push(word.keyword);
            }
            _ => words_before.push(Keyword::NoKeyword),
        }
    }
}

/// Makes ON and OFF behind an option of COPY what the parser reads there, TRUE and FALSE.
fn options_are_plain(tokens: &mut [TokenWithSpan]) {
    let mut is_copy = None;
    let mut follows_option = false;
    for token in tokens {
        match &mut token.token {
            Token::Whitespace(_) => {}
            Token::SemiColon => is_copy = None,
            Token::Word(word) if *is_copy.get_or_insert(word.keyword == Keyword::COPY) => {
                if follows_option && matches!(word.keyword, Keyword::ON | Keyword::OFF) {
                    let is_on = word.keyword == Keyword::ON;
                    word.value = if is_on { "TRUE" } else { "FALSE" }.to_owned();
                    word.keyword = if is_on { Keyword::TRUE } else { Keyword::FALSE };
                }
                follows_option = matches!(word.keyword, Keyword::FREEZE | Keyword::HEADER);
            }
            _ => follows_option = false,
        }
    }
}

/// Leaves VACUUM with FULL and the name of its table alone: what else it may be told is done
/// anyway, or means nothing here.
fn vacuum_is_plain(tokens: &mut [TokenWithSpan]) {
    let mut is_vacuum = None;
    let mut depth = 0;
    for token in tokens {
        let is_first = is_vacuum.is_none();
        let goes = match &token.token {
            Token::Whitespace(_) => continue,
            Token::SemiColon => {
                is_vacuum = None;
                continue;
            }
            Token::LParen => {
                depth += 1;
                true
            }
            Token::RParen => {
                depth -= 1;
                true
            }
            Token::Word(word) => {
                is_vacuum.get_or_insert(word.keyword == Keyword::VACUUM);
                let more = [Keyword::ANALYZE, Keyword::FREEZE, Keyword::VERBOSE];
                // FULL says how much is frozen.
                word.keyword != Keyword::FULL && (depth > 0 || more.contains(&word.keyword))
            }
            _ => depth > 0,
        };
        if goes && !is_first && is_vacuum == Some(true) {
            token.token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// Puts the options of a sequence, of CREATE SEQUENCE and behind IDENTITY, into the one order that
/// the parser reads.
fn options_are_in_order(tokens: &mut [TokenWithSpan]) {
    let mut words = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].token {
            Token::Word(word) => words.push(word.keyword),
            Token::SemiColon => words.clear(),
            _ => {}
        }
        at += 1;
        let is_creation = words.first() == Some(&Keyword::CREATE);
        let of_sequence = words.get(1) == Some(&Keyword::SEQUENCE);
        let begins = of_sequence || words.last() == Some(&Keyword::IDENTITY);
        if is_creation && begins && tokens.get(at).is_some_and(|token| rank(token).is_some()) {
            let end = at + tokens[at..].iter().take_while(|token| !ends_options(token)).count();
            order(&mut tokens[at..end]);
            at = end;
        }
    }
}

fn ends_options(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::RParen | Token::SemiColon | Token::EOF)
}

/// The place of an option that begins here among the others.
fn rank(token: &TokenWithSpan) -> Option<usize> {
    const ORDER: [Keyword; 7] = [
        Keyword::INCREMENT,
        Keyword::MINVALUE,
        Keyword::MAXVALUE,
        Keyword::START,
        Keyword::CACHE,
        Keyword::CYCLE,
        Keyword::OWNED,
    ];
    let Token::Word(word) = &token.token else { return None };
    match word.keyword {
        // What follows says which.
        Keyword::NO => Some(ORDER.len()),
        keyword => ORDER.iter().position(|other| *other == keyword),
    }
}

fn order(tokens: &mut [TokenWithSpan]) {
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut after_no = false;
    for token in tokens.iter() {
        match (rank(token), options.last_mut()) {
            (Some(place), Some(option)) if after_no => {
                option.0 = place;
                option.1.push(token.clone());
                after_no = false;
            }
            (Some(place), _) => {
                after_no = place == 7;
                options.push((place, vec![token.clone()]));
            }
            (None, Some(option)) => option.1.push(token.clone()),
            // It begins with an option.
            (None, None) => return,
        }
    }
    options.sort_by_key(|(place, _)| *place);
    // The last option may have no blank behind it.
    let ordered: Vec<TokenWithSpan> = options.into_iter().flat_map(|(_, tokens)| tokens).collect();
    tokens.clone_from_slice(&ordered);
}

/// Makes MOVE, which the parser does not know, FETCH of a name with a mark before it.
fn moves_are_fetches(tokens: &mut [TokenWithSpan]) {
    let mut words = Vec::new();
    for place in 0..=tokens.len() {
        match tokens.get(place).map(|token| &token.token) {
            Some(Token::Word(_)) => words.push(place),
            Some(Token::SemiColon) | None => {
                mark_move(tokens, &words);
                words.clear();
            }
            Some(_) => {}
        }
    }
}

fn mark_move(tokens: &mut [TokenWithSpan], words: &[usize]) {
    let &[first, .., last] = words else { return };
    let Token::Word(word) = &mut tokens[first].token else { return };
    if !word.value.eq_ignore_ascii_case("move") || word.quote_style.is_some() {
        return;
    }
    word.value = "FETCH".to_owned();
    word.keyword = Keyword::FETCH;
    if let Token::Word(name) = &mut tokens[last].token {
        name.value.insert(0, MOVES);
    }
}

#[cfg(test)]
mod tests;
