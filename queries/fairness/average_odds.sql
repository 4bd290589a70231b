-- Average odds: the difference between the groups' means of the true and the false positive rate. A group
-- needs both rates.
-- views: _groups.sql
-- views: _decisions.sql
SELECT slice, difference((tpr + fpr) / 2, (ref_tpr + ref_fpr) / 2) AS value
FROM odds
GROUP BY slice
