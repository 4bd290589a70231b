-- F1: the harmonic mean of a user's precision and recall at k, 0 without a hit; the mean over
-- users.
-- views: _lists.sql
-- n of: users, rules
-- n: list_contains(sets, average_over) AND (n_rel > 0 OR empty <> 'drop')
WITH each_user AS (
    SELECT slice, "user", n_rec, n_rel, sets, coalesce(sum(amount), 0) AS n_hits
    FROM lists
    GROUP BY ALL
),
both_shares AS (
    SELECT *, share(n_hits, divisor(precision_by, n_hits, n_rec, n_rel)) AS "precision",
           share(n_hits, divisor(recall_by, n_hits, n_rec, n_rel)) AS recall
    FROM each_user, rules
)
SELECT slice,
       mean_over(average_over, sets, n_rel, empty,
                 CASE WHEN n_hits = 0 THEN 0 ELSE 2 / (1 / "precision" + 1 / recall) END) AS value
FROM both_shares
GROUP BY slice
