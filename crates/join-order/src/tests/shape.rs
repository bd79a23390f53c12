//! The joins of a plan in one line: `(build > probe)`, `semi` and `anti` where rows are only
//! filtered (`(a semi> b)` keeps rows of `b`, `(a <semi b)` those of `a`), and `group(..)`.

use datafusion::common::{JoinType, tree_node::TreeNode, tree_node::TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

pub(super) fn shape(plan: &LogicalPlan) -> String {
    match plan {
        LogicalPlan::Join(join) => {
            let word = match join.join_type {
                JoinType::Inner if join.on.is_empty() => "x",
                JoinType::Inner => ">",
                JoinType::Left => "<outer",
                JoinType::Right => "outer>",
                JoinType::Full => "<outer>",
                JoinType::LeftSemi => "<semi",
                JoinType::RightSemi => "semi>",
                JoinType::LeftAnti => "<anti",
                JoinType::RightAnti => "anti>",
                JoinType::LeftMark => "<mark",
                JoinType::RightMark => "mark>",
            };
            format!("({} {word} {})", shape(&join.left), shape(&join.right))
        }
        LogicalPlan::TableScan(scan) => scan.table_name.table().to_owned(),
        LogicalPlan::Aggregate(aggregate) if !aggregate.group_expr.is_empty() => {
            format!("group({})", shape(&aggregate.input))
        }
        other => {
            let inputs: Vec<String> = other.inputs().into_iter().map(shape).collect();
            inputs.join(" ")
        }
    }
}

/// The same for each subquery that expressions of the plan hold.
pub(super) fn subquery_shapes(plan: &LogicalPlan) -> Vec<String> {
    let mut shapes = Vec::new();
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarSubquery(subquery) = expr {
                    shapes.push(shape(&subquery.subquery));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .expect("nothing fails");
    shapes
}
